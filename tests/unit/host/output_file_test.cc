// OutputFile writes a file whole or not at all.
#include "cli/host/output_file.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <thread>

#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "labelscope-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const char* name) const { return (path_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), {}));
  }

 private:
  fs::path path_;
};

std::string content(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Status hello(std::ostream& out) {
  out << "hello";
  return {};
}

}  // namespace

TEST_CASE("output_file: has its name only when it is whole") {
  Folder folder;
  auto file = OutputFile::open(folder / "a", false);
  REQUIRE(file);
  CHECK(!fs::exists(folder / "a"));
  REQUIRE(file->write(hello));
  CHECK(content(folder / "a") == "hello");
  CHECK(file->size() == 5);
  CHECK(folder.files() == 1);
}

TEST_CASE("output_file: one that is never written leaves nothing") {
  Folder folder;
  { REQUIRE(OutputFile::open(folder / "a", false)); }
  { REQUIRE(OutputFile::open(folder / "b", true)); }
  CHECK(folder.files() == 0);
}

TEST_CASE("output_file: a renderer that fails leaves nothing") {
  Folder folder;
  {
    auto file = OutputFile::open(folder / "a", false);
    REQUIRE(file);
    CHECK(!file->write([](std::ostream& out) -> Status {
      out << "half";
      return Error{ErrorCode::kSystem, "on purpose"};
    }));
  }
  CHECK(folder.files() == 0);
}

TEST_CASE("output_file: a file that exists is refused, and kept if it appears meanwhile") {
  Folder folder;
  std::ofstream(folder / "old") << "old";
  auto refused = OutputFile::open(folder / "old", false);
  REQUIRE(!refused);
  CHECK(refused.error().context.find("exists") != std::string::npos);
  auto file = OutputFile::open(folder / "new", false);
  REQUIRE(file);
  std::ofstream(folder / "new") << "somebody else's";
  CHECK(!file->write(hello));
  CHECK(content(folder / "new") == "somebody else's");
}

TEST_CASE("output_file: --overwrite replaces in one step, and nothing else is left") {
  Folder folder;
  std::ofstream(folder / "old") << "old";
  auto file = OutputFile::open(folder / "old", true);
  REQUIRE(file);
  CHECK(content(folder / "old") == "old");
  REQUIRE(file->write(hello));
  CHECK(content(folder / "old") == "hello");
  CHECK(folder.files() == 1);
}

TEST_CASE("output_file: --overwrite keeps the mode and the owner of what it replaces") {
  constexpr uid_t kOther = 65534;
  Folder folder;
  const std::string path = folder / "old";
  std::ofstream(path) << "old";
  const bool root = ::geteuid() == 0;
  if (root) REQUIRE(::chown(path.c_str(), kOther, kOther) == 0);
  for (const mode_t mode : {mode_t{0600}, mode_t{0664}}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    auto file = OutputFile::open(path, true);
    REQUIRE(file);
    REQUIRE(file->write(hello));
    struct stat found {};
    REQUIRE(::stat(path.c_str(), &found) == 0);
    CHECK((found.st_mode & 07777) == mode);
    if (root) CHECK((found.st_uid == kOther && found.st_gid == kOther));
    CHECK(content(path) == "hello");
  }
}

TEST_CASE("output_file: a path that cannot be written is an error before anything is rendered") {
  Folder folder;
  CHECK(!OutputFile::open(folder / "missing/file", false));
  auto directory = OutputFile::open(folder / ".", false);
  REQUIRE(!directory);
  CHECK(directory.error().context.find("directory") != std::string::npos);
}

TEST_CASE("output_file: a device is written directly and survives") {
  auto file = OutputFile::open("/dev/null", false);
  REQUIRE(file);
  REQUIRE(file->write(hello));
  struct stat found {};
  REQUIRE(::stat("/dev/null", &found) == 0);
  CHECK(S_ISCHR(found.st_mode));
}

TEST_CASE("output_file: a full device is an error with its reason") {
  auto file = OutputFile::open("/dev/full", false);
  REQUIRE(file);
  Status status = file->write(hello);
  REQUIRE(!status);
  CHECK(status.error().context.find("No space left") != std::string::npos);
}

TEST_CASE("output_file: a link that leads nowhere takes the name") {
  Folder folder;
  fs::create_symlink(folder / "nothing", folder / "a");
  CHECK(!OutputFile::open(folder / "a", false));
  auto file = OutputFile::open(folder / "a", true);
  REQUIRE(file);
  REQUIRE(file->write(hello));
  CHECK(content(folder / "a") == "hello");
}

TEST_CASE("output_file: a pipe without a reader is refused, not waited for") {
  Folder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  auto file = OutputFile::open(folder / "pipe", false);
  REQUIRE(!file);
  CHECK(file.error().context.find("start its reader first") != std::string::npos);
}

TEST_CASE("output_file: a pipe whose reader is slow gets all of it") {
  Folder folder;
  const std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const UniqueFd reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  REQUIRE(reader.valid());
  const std::string sent(20 * static_cast<std::size_t>(::fcntl(reader.get(), F_GETPIPE_SZ)), 'x');
  auto file = OutputFile::open(path, false);
  REQUIRE(file);
  Status written;
  std::thread writer([&] {
    OutputFile pipe = *std::move(file);
    written = pipe.write([&](std::ostream& out) -> Status {
      out << sent;
      return {};
    });
  });
  // Reading begins when the pipe is full.
  const auto buffered = [&] {
    int bytes = 0;
    return ::ioctl(reader.get(), FIONREAD, &bytes) == 0 ? bytes : -1;
  };
  while (buffered() < ::fcntl(reader.get(), F_GETPIPE_SZ)) ::sched_yield();
  ::fcntl(reader.get(), F_SETFL, O_RDONLY);
  std::size_t got = 0;
  std::array<char, 4096> part{};
  for (ssize_t size = 0; (size = ::read(reader.get(), part.data(), part.size())) > 0;) {
    got += static_cast<std::size_t>(size);
  }
  writer.join();
  INFO((written ? "" : written.error().context));
  CHECK(written);
  CHECK(got == sent.size());
}
