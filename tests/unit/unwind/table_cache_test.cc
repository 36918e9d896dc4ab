// Tables that are kept come back as they were, of the same file alone. A kept table that others
// could have made, or that is not whole, is refused by name, and made again.
#include "cli/unwind/table_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/unwind/table_key.h"
#include "cli/unwind/table_worker.h"
#include "support/catch.h"
#include "support/forked_worker.h"
#include "unit/symbol/temp_folder.h"

using namespace labelscope;
using namespace labelscope::cli;
namespace fs = std::filesystem;

namespace {

UnwindTable small_table() {
  UnwindTable table;
  table.machine = Machine::kX86_64;
  table.text = 0x40000;
  table.pages = {{0, 2}};
  table.rows = {LS_UNWIND_ROW(0U, 0), LS_UNWIND_ROW(64U, 1)};
  table.rules.resize(2);
  table.rules[1].cfa = LS_CFA_SP;
  table.rules[1].cfa_offset = 8;
  table.segments.push_back({0, 0, 1 << 20, 1 << 20, true, false});
  return table;
}

bool is_small_table(const std::optional<UnwindTable>& table) {
  const UnwindTable expected = small_table();
  return table && table->text == expected.text && table->rows == expected.rows &&
         table->rules.size() == 2 && table->rules[1].cfa_offset == 8;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_to(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

UniqueFd open_file(const fs::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(fd.valid());
  return fd;
}

std::unique_ptr<TableCache> open_cache(const fs::path& folder,
                                       std::uint64_t most = TableCache::kMostBytes) {
  auto cache = TableCache::open(folder, most);
  INFO((cache ? "" : cache.error().context));
  REQUIRE(cache);
  return *std::move(cache);
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

}  // namespace

TEST_CASE("table_cache: a table is found again as long as its file stays the same") {
  const TempFolder temporary;
  const fs::path folder = temporary.path();
  const fs::path program = folder / "program";
  write_to(program, "one");
  REQUIRE(::chmod(program.c_str(), 0644) == 0);
  const std::string key = table_key_of(open_file(program));
  REQUIRE_FALSE(key.empty());
  const auto first = open_cache(folder / "cache");
  CHECK_FALSE(first->find(key));
  first->keep(key, small_table());
  struct stat status {};
  REQUIRE(::stat((folder / "cache").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);

  const auto second = open_cache(folder / "cache");
  CHECK(is_small_table(second->find(key)));
  CHECK(second->found() == 1);
  CHECK(second->problems().empty());
  // Another file of the same size and times is another file.
  fs::copy_file(program, folder / "other");
  CHECK_FALSE(second->find(table_key_of(open_file(folder / "other"))));
  // What is written over it changes its ctime, whatever its mtime says. Before Linux 6.13 the next
  // tick of the clock changes it.
  const auto mtime = fs::last_write_time(program);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  do {
    write_to(program, "two");
    fs::last_write_time(program, mtime);
  } while (table_key_of(open_file(program)) == key && std::chrono::steady_clock::now() < deadline);
  CHECK_FALSE(second->find(table_key_of(open_file(program))));
  CHECK(second->problems().empty());
}

TEST_CASE("table_cache: what is damaged or not our own is refused by name, and replaced") {
  const TempFolder temporary;
  const TempFolder outside;
  const fs::path folder = temporary.path();
  const std::string key = "file of this test";
  open_cache(folder)->keep(key, small_table());
  REQUIRE(files_in(folder).size() == 1);
  const fs::path kept = files_in(folder).front();
  const std::string whole = bytes_of(kept);
  std::string why;
  SECTION("cut short") {
    write_to(kept, whole.substr(0, whole.size() - 1));
    why = "not whole";
  }
  SECTION("shorter than its head") {
    write_to(kept, whole.substr(0, 20));
    why = "impossible size";
  }
  SECTION("with another byte in its table") {
    std::string changed = whole;
    changed.back() ^= 1;
    write_to(kept, changed);
    why = "checksum";
  }
  SECTION("a symbolic link") {
    const fs::path elsewhere = fs::path(outside.path()) / "elsewhere";
    fs::rename(kept, elsewhere);
    fs::create_symlink(elsewhere, kept);
    why = "symbolic link";
  }
  SECTION("no file") {
    fs::remove(kept);
    REQUIRE(::mkfifo(kept.c_str(), 0600) == 0);
    why = "no regular file";
  }
  SECTION("writable for others") {
    REQUIRE(::chmod(kept.c_str(), 0622) == 0);
    why = "others may write";
  }
  SECTION("of another user") {
    if (::geteuid() != 0) return;
    REQUIRE(::chown(kept.c_str(), 65534, 65534) == 0);
    why = "belongs to another user";
  }
  const auto cache = open_cache(folder);
  CHECK_FALSE(cache->find(key));
  REQUIRE(cache->problems().size() == 1);
  CHECK_THAT(cache->problems().front(), Catch::Matchers::Contains(kept.filename().string()));
  CHECK_THAT(cache->problems().front(), Catch::Matchers::Contains(why));
  CHECK(cache->found() == 0);
  cache->keep(key, small_table());
  CHECK(is_small_table(open_cache(folder)->find(key)));
}

TEST_CASE("table_cache: no changed byte leads to another table") {
  const TempFolder temporary;
  const fs::path folder = temporary.path();
  const std::string key = "file of this test";
  open_cache(folder)->keep(key, small_table());
  const fs::path kept = files_in(folder).front();
  const std::string whole = bytes_of(kept);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] + 1);
    write_to(kept, changed);
    CAPTURE(at);
    CHECK_FALSE(open_cache(folder)->find(key));
  }
}

TEST_CASE("table_cache: a folder with other files is not used, and keeps them") {
  const TempFolder temporary;
  const fs::path folder = temporary.path();
  for (const char* other :
       {"thesis.doc", ".profile", "initrd.img", "0123456789abcdef.table.doc", "0123456789abcdef",
        "0123456789ABCDEF.table", "x.table", "0123456789abcdef.table.0123456789abcdef0"}) {
    CAPTURE(other);
    write_to(folder / other, "years of work");
    const auto refused = TableCache::open(folder);
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().context, Catch::Matchers::Contains(other));
    CHECK(bytes_of(folder / other) == "years of work");
    fs::remove(folder / other);
  }
  fs::create_directory(folder / "photos");
  CHECK_FALSE(TableCache::open(folder));
  fs::remove(folder / "photos");
  CHECK(TableCache::open(folder));
}

TEST_CASE("table_cache: no file that comes into the folder later is removed") {
  const TempFolder temporary;
  const fs::path folder = temporary.path();
  const auto cache = open_cache(folder, 2000);
  write_to(folder / "thesis.doc", std::string(5000, 'x'));
  fs::last_write_time(folder / "thesis.doc",
                      fs::file_time_type::clock::now() - std::chrono::hours(1000));
  for (int i = 0; i < 20; ++i) cache->keep("key " + std::to_string(i), small_table());
  CHECK(fs::file_size(folder / "thesis.doc") == 5000);
  CHECK(is_small_table(cache->find("key 19")));
  CHECK_FALSE(cache->find("key 0"));
}

TEST_CASE("table_cache: what a killed labelscope has left blocks nothing, and makes room") {
  const TempFolder temporary;
  const fs::path folder = temporary.path();
  open_cache(folder)->keep("key", small_table());
  const fs::path kept = files_in(folder).front();
  const std::string whole = bytes_of(kept);
  fs::remove(kept);
  const fs::path left = kept.string() + "." + std::to_string(::getpid());
  write_to(left, whole.substr(0, 100) + std::string(5000, 'x'));
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto cache = open_cache(folder, 2 * whole.size());
  cache->keep("key", small_table());
  CHECK(cache->problems().empty());
  CHECK(is_small_table(cache->find("key")));
  CHECK_FALSE(fs::exists(left));
}

TEST_CASE("table_cache: a folder that others could write to is not used") {
  const TempFolder temporary;
  const fs::path folder = temporary.path();
  REQUIRE(::chmod(folder.c_str(), 0777) == 0);
  const auto open_to_all = TableCache::open(folder);
  REQUIRE_FALSE(open_to_all);
  CHECK(open_to_all.error().code == ErrorCode::kPermission);
  REQUIRE(::chmod(folder.c_str(), 0700) == 0);
  fs::create_directory_symlink(folder, folder / "link");
  CHECK_FALSE(TableCache::open(folder / "link"));
  CHECK(TableCache::open(folder / "new" / "cache"));
}

TEST_CASE("table_cache: the tables that were not used for the longest time make room") {
  const TempFolder temporary;
  const fs::path folder = temporary.path();
  std::uint64_t size = 0;
  {
    const auto cache = open_cache(folder);
    cache->keep("a", small_table());
    size = fs::file_size(files_in(folder).front());
    cache->keep("b", small_table());
    for (const fs::path& file : files_in(folder)) {
      fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
    }
    CHECK(cache->find("a"));  // so it was used last
  }
  const auto full = open_cache(folder, 2 * size);
  full->keep("c", small_table());
  CHECK(full->find("a"));
  CHECK_FALSE(full->find("b"));
  CHECK(full->find("c"));
  CHECK(full->problems().empty());
}

TEST_CASE("table_cache: for a file that was seen before, no worker is started") {
  const TempFolder temporary;
  const fs::path folder = temporary.path();
  const fs::path program = folder / "program";
  fs::copy_file("/proc/self/exe", program);
  REQUIRE(::chmod(program.c_str(), 0755) == 0);
  unsigned started = 0;
  const Launcher counted = [&](std::uint64_t memory) {
    ++started;
    return honest_worker()(memory);
  };
  std::vector<std::uint32_t> rows;
  for (unsigned round = 0; round < 2; ++round) {
    TableWorker tables(counted);
    tables.keep_in(open_cache(folder / "cache"));
    const auto table = tables.build(open_file(program));
    INFO((table ? "" : table.error().context));
    REQUIRE(table);
    if (round == 0) rows = table->rows;
    CHECK(table->rows == rows);
    CHECK(tables.cache()->found() == round);
    CHECK(started == 1);
  }
}

TEST_CASE("table_cache: nothing is kept of a worker that has read a file of others") {
  const TempFolder temporary;
  const fs::path folder = temporary.path();
  const fs::path own = folder / "own";
  const fs::path foreign = folder / "foreign";
  for (const fs::path& program : {own, foreign}) fs::copy_file("/proc/self/exe", program);
  REQUIRE(::chmod(own.c_str(), 0755) == 0);
  REQUIRE(::chmod(foreign.c_str(), 0777) == 0);
  TableWorker tables(honest_worker());
  tables.keep_in(open_cache(folder / "cache"));
  REQUIRE(tables.build(open_file(foreign)));
  REQUIRE(tables.build(open_file(own)));
  CHECK(files_in(folder / "cache").empty());
}
