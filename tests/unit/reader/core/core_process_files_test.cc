// Tests the files of a dead process: where they are looked for, and that only the file that was
// mapped is accepted.
#include <sys/stat.h>

#include <cstdlib>

#include "elf/elf_image.h"
#include "labelscope/plan.h"
#include "sampling/snapshot.h"
#include "support/catch.h"
#include "unit/reader/core_bytes.h"
#include "unit/reader/elf_bytes.h"
#include "unit/reader/made_core.h"

namespace labelscope::test {
namespace {

constexpr Address kBias = 0x7f0000000000;
constexpr const char* kPath = "/opt/service/libservice.so.1";

const std::string& library() {
  static const std::string bytes = read_file(fixture_path("libcustomlabels_gnu2.so"));
  return bytes;
}
// This is another build of nearly the same code: it has the same segment layout and one more
// thread-local variable.
const std::string& other_library() {
  static const std::string bytes = read_file(fixture_path("libcustomlabels_gnu.so"));
  return bytes;
}

std::string build_id(const std::string& bytes) { return require_image(bytes).build_id(); }

// The same file without the note that holds its build ID.
std::string without_build_id(std::string bytes) {
  const std::size_t owner = bytes.find(std::string("\x14\0\0\0\x03\0\0\0GNU\0", 12));
  REQUIRE(owner != std::string::npos);
  bytes[owner + 4] = 0x7f;
  return bytes;
}

CoreBytes core_with(const std::string& file, bool first_page = true) {
  CoreBytes made;
  made.add_thread({.tid = 1});
  made.add_library(kPath, file, kBias, {}, first_page);
  made.add_loaded_files();
  return made;
}

// The result of looking for the library's file once, and of reading memory that only the file has.
struct Looked {
  Result<UniqueFd> file;
  Status memory;
  std::string bytes;
  std::vector<CoreFileProblem> problems;
};

Looked look(const CoreBytes& made, const CoreOptions& options) {
  const MadeCore core(made.bytes(), options);
  REQUIRE(core.opened());
  const auto mappings = core->mappings();
  REQUIRE(mappings);
  const Mapping* mapping = find_mapping(*mappings, kBias + 0x1000);
  REQUIRE(mapping != nullptr);
  CHECK(mapping->executable);
  CHECK(mapping->path == kPath);
  Looked looked{core->open_file(*mapping), {}, std::string(64, '\0'), {}};
  looked.memory =
      core->memory().read(kBias + 0x1000, std::as_writable_bytes(std::span(looked.bytes)));
  looked.problems = core->problems();
  return looked;
}

void check_found(const Looked& looked, const std::string& file) {
  if (!looked.file) FAIL(looked.file.error().context);
  CHECK(looked.memory);
  CHECK(looked.bytes == file.substr(0x1000, looked.bytes.size()));
  CHECK(looked.problems.empty());
}

void check_refused(const Looked& looked, const std::string& why) {
  REQUIRE_FALSE(looked.file);
  INFO(looked.file.error().context);
  CHECK(looked.file.error().context.find(why) != std::string::npos);
  REQUIRE_FALSE(looked.memory);
  CHECK(looked.memory.error().code == ErrorCode::kUnreadable);
  REQUIRE(looked.problems.size() == 1);
  CHECK(looked.problems[0].path == kPath);
  CHECK_FALSE(looked.problems[0].used);
  CHECK(looked.problems[0].reason.find(why) != std::string::npos);
}

// Returns the link-time address of DT_DEBUG's value in a file.
std::uint64_t debug_value_of(const std::string& file) {
  const ElfImage image = require_image(file);
  const std::uint64_t dynamic = image.dynamic_address().value_or(0);
  for (const LoadSegment& load : image.load_segments()) {
    if (dynamic < load.vaddr || dynamic >= load.vaddr + load.file_size) continue;
    for (std::uint64_t at = dynamic; at < load.vaddr + load.file_size; at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      std::memcpy(&entry, file.data() + load.file_offset + (at - load.vaddr), sizeof entry);
      if (entry.d_tag == DT_DEBUG) return at + offsetof(Elf64_Dyn, d_un);
    }
  }
  FAIL("the file has no DT_DEBUG");
  return 0;
}

// The result for a core without NT_FILE whose loader keeps its list at kDebug.
struct Listed {
  std::vector<CoreFileProblem> problems;
  unsigned outcome = 0;
};
constexpr Address kDebug = 0x7e0000000000;
constexpr Address kLinks = kDebug + 0x100;
constexpr std::uint64_t kLinkSize = 40;  // {bias, name, dynamic, next, previous}

Listed list_libraries(const std::string& loaders_memory) {
  const std::string path = fixture_path("exe_importer_gnu");
  const std::string program = read_file(path);
  CoreBytes made;
  made.add_thread({.tid = 1, .thread_pointer = 0x7d0000000000});
  made.add_auxv({{AT_PHDR, kBias + sizeof(Elf64_Ehdr)}});
  made.add_library(path, program, kBias, {{debug_value_of(program), bytes_of(kDebug)}});
  if (!loaders_memory.empty()) made.add_memory(kDebug, loaders_memory);
  const MadeCore core(made.bytes(), {path, {"/nonexistent"}, {}});
  REQUIRE(core.opened());
  auto plan = Planner().plan(*core);
  REQUIRE(plan);
  CHECK(plan->modules == 1);
  CHECK(plan->publishers.empty());
  const auto snapshot = snapshot_core(*core, *plan, {});
  REQUIRE(snapshot);
  REQUIRE(snapshot->threads.size() == 1);
  return {core->problems(), snapshot->threads[0].seen.outcome};
}

// Makes a struct r_debug and `count` links without a name; the last one leads to `last`.
std::string links(std::size_t count, Address last) {
  std::string memory = bytes_of(std::uint64_t{1}) + bytes_of(kLinks);
  memory.resize(kLinks - kDebug);
  for (std::size_t i = 0; i < count; ++i) {
    const Address next = i + 1 == count ? last : kLinks + (i + 1) * kLinkSize;
    std::string link(kLinkSize, '\0');
    memory += link.replace(24, sizeof next, bytes_of(next));
  }
  return memory;
}

}  // namespace

TEST_CASE("core_file: the loader's list that ends is all there is") {
  const Listed listed = list_libraries(links(3, 0));
  CHECK(listed.problems.empty());
  CHECK(listed.outcome == LS_UNLABELLED);
}

TEST_CASE("core_file: a loader's list that cannot be followed to its end may hide a publisher") {
  for (const std::string& memory : {std::string(), links(2, kLinks), links(2, kLinks + kLinkSize),
                                    links(2, 0x1000), links(5000, 0)}) {
    INFO(memory.size());
    const Listed listed = list_libraries(memory);
    REQUIRE(listed.problems.size() == 1);
    CHECK(listed.problems[0].path.empty());
    CHECK_FALSE(listed.problems[0].used);
    CHECK(listed.problems[0].reason.find("cannot be read to its end") != std::string::npos);
    CHECK(listed.outcome == LS_UNREADABLE_NO_RECIPE);
  }
}

TEST_CASE("core_file: a file is found under its own path below a system root") {
  const TempFolder empty;
  const TempFolder root;
  write_file(root.path() + kPath, library());
  check_found(look(core_with(library()), {{}, {empty.path(), root.path()}, {}}), library());
}

TEST_CASE("core_file: a file is found by its build ID below a system root") {
  const std::string id = build_id(library());
  const std::string name = ".build-id/" + id.substr(0, 2) + "/" + id.substr(2);
  for (const std::string& path :
       {"/usr/lib/debug/" + name + ".debug", "/usr/lib/debug/" + name, "/usr/lib/" + name}) {
    INFO(path);
    const TempFolder root;
    write_file(root.path() + path, library());
    check_found(look(core_with(library()), {{}, {root.path()}, {}}), library());
  }
}

TEST_CASE("core_file: a file is found in a directory, by its name or by its build ID alone") {
  const std::string id = build_id(library());
  for (const std::string& name : {std::string("libservice.so.1"), std::string("some/where/x"), id,
                                  id + ".debug", "cache/" + id + "/executable"}) {
    INFO(name);
    const TempFolder files;
    write_file(files.path() + "/" + name, library());
    write_file(files.path() + "/other", other_library());
    write_file(files.path() + "/text", "no ELF file");
    check_found(look(core_with(library()), {{}, {"/nonexistent"}, {files.path()}}), library());
  }
}

TEST_CASE("core_file: what the process had changed counts, not the file") {
  const TempFolder root;
  write_file(root.path() + kPath, library());
  CoreBytes made;
  made.add_thread({.tid = 1});
  constexpr std::uint64_t kWritable = 0x3f00;
  made.add_library(kPath, library(), kBias, {{kWritable, "changed"}});
  made.add_loaded_files();
  const MadeCore core(made.bytes(), {{}, {root.path()}, {}});
  REQUIRE(core.opened());
  // This range goes from the last read-only page, which only the file has, to the first writable
  // one.
  std::string text(kWritable + 7 - 0x2f00, '\0');
  REQUIRE(core->memory().read(kBias + 0x2f00, std::as_writable_bytes(std::span(text))));
  CHECK(text.substr(0, 0x100) == library().substr(0x2f00, 0x100));
  CHECK(text.ends_with("changed"));
}

TEST_CASE(
    "core_file: of memory that was written to a file has nothing, unless all that was is dumped") {
  constexpr Address kStack = 0x7ffd00000000;
  const TempFolder root;
  write_file(root.path() + kPath, library());
  const LoadSegment writable = [] {
    const ElfImage image = require_image(library());
    for (const LoadSegment& load : image.load_segments()) {
      if (load.writable) return load;
    }
    return LoadSegment{};
  }();
  REQUIRE(writable.file_size != 0);
  for (const bool with_stack : {false, true}) {
    INFO(with_stack);
    CoreBytes made;
    made.add_thread({.tid = 1, .thread_pointer = kStack + 64, .pc = 0, .sp = kStack + 64});
    made.add_library(kPath, library(), kBias, {}, true, false);
    made.add_loaded_files();
    made.add_memory(kStack, with_stack ? std::string(4096, 's') : std::string(), 4096);
    const MadeCore core(made.bytes(), {{}, {root.path()}, {}});
    REQUIRE(core.opened());
    std::string bytes(64, '\0');
    const auto out = std::as_writable_bytes(std::span(bytes));
    CHECK(core->memory().read(kBias + 0x1000, out));
    const Status read = core->memory().read(kBias + writable.vaddr, out);
    CHECK(read.has_value() == with_stack);
    if (with_stack) {
      CHECK(bytes == library().substr(writable.file_offset, bytes.size()));
      continue;
    }
    CHECK(read.error().context.find("was not dumped") != std::string::npos);
    // The file has 0 in the slot. The slot in memory is not taken for 0, because its value is
    // unknown.
    const auto plan = Planner().plan(*core);
    REQUIRE(plan);
    REQUIRE(plan->publishers.size() == 1);
    REQUIRE_FALSE(plan->publishers[0].findings.empty());
    const std::string& told = plan->publishers[0].findings[0].text;
    CHECK(told.find("not filled") == std::string::npos);
    CHECK(told.find("was not dumped") != std::string::npos);
  }
}

TEST_CASE("core_file: a publisher whose words are not in the core leaves no thread unlabelled") {
  // In one_slot.yaml the slot, and in one variant the version, are in writable memory.
  constexpr std::uint64_t kSlot = 0x1900;
  constexpr std::uint64_t kVersion = 0x1a00;
  constexpr Address kThread = 0x7e0000001000;
  constexpr const char* kPublisher = "/lib/libcustomlabels.so";
  for (const bool version_in_data : {false, true}) {
    for (const bool cut : {false, true}) {
      INFO((version_in_data ? "version in .data, " : "version in .rodata, ")
           << (cut ? "cut short" : "not dumped"));
      const std::string file =
          version_in_data ? elf_from_yaml("one_slot", {"VERSION_SECTION=.got", "VERSION_AT=0x1a00"})
                          : elf_from_yaml("one_slot", {});
      const TempFolder root;
      write_file(root.path() + kPublisher, file);
      CoreBytes made(Machine::kX86_64);
      made.add_thread({.tid = 7, .thread_pointer = kThread});
      made.add_memory(kThread - 0x1000, std::string(0x2000, '\0'));
      made.add_library(
          kPublisher, file, kBias,
          {{kVersion, bytes_of(std::uint32_t{1})}, {kSlot, bytes_of(Address{kBias + 0x1f00})}},
          true, cut);
      made.add_loaded_files();
      std::string bytes = made.bytes();
      // The library's writable memory is at the end of the core.
      if (cut) bytes.resize(bytes.size() - 0x1000);
      const MadeCore core(bytes, {{}, {root.path()}, {}});
      REQUIRE(core.opened());
      CHECK(core->truncated() == cut);
      const auto plan = Planner().plan(*core);
      REQUIRE(plan);
      CHECK_FALSE(plan->plan_again);
      CHECK(plan->refusals.empty());
      REQUIRE(plan->publishers.size() == 1);
      REQUIRE_FALSE(plan->publishers[0].findings.empty());
      const Finding& finding = plan->publishers[0].findings[0];
      INFO(finding_clause(finding));
      CHECK(finding_name(finding) == (version_in_data ? "version-unreadable" : "unresolved"));
      CHECK(finding.text.find(cut ? "was cut short" : "was not dumped") != std::string::npos);
      CHECK(finding.fix.find("make a core file with") != std::string::npos);
      const auto snapshot = snapshot_core(*core, *plan, {});
      REQUIRE(snapshot);
      REQUIRE(snapshot->threads.size() == 1);
      CHECK(outcome_name(snapshot->threads[0].seen.outcome) ==
            outcome_name(LS_UNREADABLE_NO_RECIPE));
      const std::string& problem = snapshot->threads[0].problem;
      CHECK((problem.find("core file is cut short") != std::string::npos) == cut);
    }
  }
}

TEST_CASE("core_file: a file that was not found is named with its build ID") {
  const TempFolder root;
  const Looked looked = look(core_with(library()), {{}, {root.path()}, {}});
  check_refused(looked, "build ID " + build_id(library()));
  check_refused(looked, "not found");
  CHECK(looked.problems[0].build_id == build_id(library()));
}

TEST_CASE("core_file: a file with another build ID is refused, by its name too") {
  const TempFolder root;
  write_file(root.path() + kPath, other_library());
  const TempFolder files;
  write_file(files.path() + "/libservice.so.1", without_build_id(library()));
  const Looked looked = look(core_with(library()), {{}, {root.path()}, {files.path()}});
  check_refused(looked,
                root.path() + kPath + ": has another build ID, " + build_id(other_library()));
  check_refused(looked, "has no build ID");
}

TEST_CASE("core_file: without a build ID the first page decides") {
  const TempFolder root;
  const std::string file = without_build_id(library());
  write_file(root.path() + kPath, file);
  check_found(look(core_with(file), {{}, {root.path()}, {}}), file);
  std::string changed = file;
  changed[offsetof(Elf64_Ehdr, e_shoff)] ^= 1;
  write_file(root.path() + kPath, changed);
  check_refused(look(core_with(file), {{}, {root.path()}, {}}), "its first page differs");
}

TEST_CASE("core_file: what nothing proves is used only if it fits, and called not verified") {
  const TempFolder root;
  write_file(root.path() + kPath, library());
  const Looked looked = look(core_with(library(), false), {{}, {root.path()}, {}});
  CHECK(looked.file);
  CHECK(looked.memory);
  REQUIRE(looked.problems.size() == 1);
  CHECK(looked.problems[0].used);
  CHECK(looked.problems[0].reason.find("not verified") != std::string::npos);

  CoreBytes elsewhere;
  elsewhere.add_thread({.tid = 1});
  elsewhere.add_memory(kBias, "", 0x10000, PF_R | PF_X);
  elsewhere.add_files({{kBias, kBias + 0x10000, 0x400, kPath}});
  check_refused(look(elsewhere, {{}, {root.path()}, {}}), "its segments are not those");
}

TEST_CASE("core_file: a file of debug information does not stand in for the library") {
  const TempFolder root;
  const std::string path = root.path() + kPath;
  write_file(path, library());
  const std::string command = "objcopy --only-keep-debug '" + path + "' 2>&1";
  if (std::system(command.c_str()) != 0) skip_test("objcopy does not work here");
  CHECK(build_id(read_file(path)) == build_id(library()));
  check_refused(look(core_with(library()), {{}, {root.path()}, {}}), "only debug information");
}

TEST_CASE("core_file: neither dots nor links in a path leave the system root") {
  skip_in_user_mode_emulation();  // QEMU has no openat2 either
  const TempFolder outside;
  write_file(outside.path() + "/secret", library());
  const TempFolder root;
  std::filesystem::create_directories(root.path() + "/opt");
  std::filesystem::create_symlink(outside.path(), root.path() + "/opt/link");
  for (const std::string& path : {"/../../../../../../../../../.." + outside.path() + "/secret",
                                  std::string("/opt/link/secret"),
                                  "/opt/../../../../../../../../.." + outside.path() + "/secret"}) {
    INFO(path);
    CoreBytes made;
    made.add_thread({.tid = 1});
    made.add_library(path, library(), kBias);
    made.add_loaded_files();
    const MadeCore core(made.bytes(), {{}, {root.path()}, {}});
    REQUIRE(core.opened());
    const auto mappings = core->mappings();
    REQUIRE(mappings);
    CHECK_FALSE(core->open_file(mappings->front()));
  }
  // The target of an absolute link is looked for within the root.
  write_file(root.path() + "/real/libservice.so.1", library());
  std::filesystem::create_directories(root.path() + "/opt/service");
  std::filesystem::create_symlink("/real/libservice.so.1", root.path() + kPath);
  check_found(look(core_with(library()), {{}, {root.path()}, {}}), library());
}

TEST_CASE("core_file: what is no regular file is not opened, and not waited for") {
  const TempFolder root;
  std::filesystem::create_directories(root.path() + "/opt/service");
  REQUIRE(::mkfifo((root.path() + kPath).c_str(), 0600) == 0);
  check_refused(look(core_with(library()), {{}, {root.path()}, {root.path()}}), "not found");
}

TEST_CASE("core_file: a path that leads into a file system of the kernel's is not opened") {
  for (const std::string path : {"/proc/version", "/proc/self/maps", "/sys/kernel/notes"}) {
    INFO(path);
    if (!std::filesystem::exists(path)) continue;
    CoreBytes made;
    made.add_thread({.tid = 1});
    made.add_library(path, library(), kBias);
    made.add_loaded_files();
    const MadeCore core(made.bytes(), {{}, {"/"}, {}});
    REQUIRE(core.opened());
    const auto mappings = core->mappings();
    REQUIRE(mappings);
    const auto file = core->open_file(mappings->front());
    REQUIRE_FALSE(file);
    INFO(file.error().context);
    CHECK(file.error().context.find(path + ": lies in a file system that") != std::string::npos);
  }
}

TEST_CASE("core_file: the main executable can be given, wherever it is and whatever its name") {
  const TempFolder folder;
  const std::string given = folder.path() + "/renamed";
  write_file(given, library());
  CoreBytes made = core_with(library());
  made.add_auxv({{AT_PHDR, kBias + sizeof(Elf64_Ehdr)}});
  check_found(look(made, {given, {"/nonexistent"}, {}}), library());
  // The given file does not stand in for another one.
  CoreBytes other = core_with(library());
  other.add_auxv({{AT_PHDR, kBias - 0x10000}});
  check_refused(look(other, {given, {"/nonexistent"}, {}}), "not found");
}

TEST_CASE("core_file: a data file that is mapped is neither a module nor memory from a file") {
  const TempFolder root;
  write_file(root.path() + "/var/data", std::string(8192, 'x'));
  CoreBytes made;
  made.add_thread({.tid = 1});
  // gcore writes no segment for memory that it leaves out.
  made.add_memory(kBias, std::string(4096, 'x'));
  made.add_files(
      {{kBias, kBias + 4096, 0, "/var/data"}, {kBias + 4096, kBias + 8192, 1, "/var/data"}});
  const MadeCore core(made.bytes(), {{}, {root.path()}, {}});
  REQUIRE(core.opened());
  const auto mappings = core->mappings();
  REQUIRE(mappings);
  REQUIRE(mappings->size() == 2);
  CHECK_FALSE((*mappings)[1].executable);
  CHECK_FALSE(read_value<char>(core->memory(), kBias + 4096));
  CHECK(core->problems().empty());
}

TEST_CASE("core_file: memory that a debugger left out may be code, so its file is a module") {
  const TempFolder root;
  write_file(root.path() + kPath, library());
  CoreBytes made;
  made.add_thread({.tid = 1});
  made.add_memory(kBias, library().substr(0, 4096), 0, PF_R);
  made.add_files({{kBias, kBias + 0x1000, 0, kPath}, {kBias + 0x1000, kBias + 0x2000, 1, kPath}});
  check_found(look(made, {{}, {root.path()}, {}}), library());
}

TEST_CASE("core_file: a file that is mapped in very many pieces is one question, not one a piece") {
  constexpr std::uint64_t kPieces = 300000;
  std::vector<MadeFile> pieces;
  for (std::uint64_t i = 0; i < kPieces; ++i) {
    pieces.push_back({kBias + i * 8192, kBias + i * 8192 + 4096, 1, "/a"});
  }
  CoreBytes made;
  made.add_thread({.tid = 1});
  made.add_files(pieces);
  const MadeCore core(made.bytes());
  REQUIRE(core.opened());
  const auto mappings = core->mappings();
  REQUIRE(mappings);
  CHECK(mappings->size() == kPieces);
  CHECK_FALSE(core->open_file(mappings->back()));
}

}  // namespace labelscope::test
