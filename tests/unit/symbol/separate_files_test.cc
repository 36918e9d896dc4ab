// Tests stripped files, with and without a debug file beside them.
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "cli/names/elf_symbols.h"
#include "cli/text/text.h"
#include "loaded_module.h"
#include "probe.h"
#include "support/catch.h"
#include "support/paths.h"
#include "temp_folder.h"

using namespace labelscope;       // NOLINT(google-build-using-namespace): a test of this namespace
using namespace labelscope::cli;  // NOLINT(google-build-using-namespace): a test of this namespace

namespace {

constexpr const char* kObjcopy = LABELSCOPE_OBJCOPY;

// Copies of the probe, made with objcopy; the addresses in them are those of the loaded probe.
struct Copies {
  TempFolder folder;
  std::string stripped = folder.path() + "/libprobe.so";
  std::string debug = folder.path() + "/libprobe.debug";

  Copies() {
    if (*kObjcopy == '\0') skip_test("objcopy is not installed");
  }
  void objcopy(const std::string& arguments) const {
    std::string command = "cd '" + folder.path() + "' && '" + kObjcopy + "' " + arguments;
    REQUIRE(std::system(command.c_str()) == 0);  // NOLINT(cert-env33-c): fixed words of this test
  }
  void strip(const std::string& more = "") const {
    objcopy("--strip-all --remove-section=.note.gnu.build-id " + more + std::string(" '") +
            paths::kProbe + "' '" + stripped + "'");
  }
  LoadedModule loaded(std::uint64_t address) const {
    LoadedModule module = module_at(address);
    REQUIRE(std::filesystem::equivalent(module.module.path, paths::kProbe));
    module.module.path = stripped;
    module.file = open_module_file(stripped);
    return module;
  }
};

}  // namespace

TEST_CASE(
    "elf_symbols: a stripped library has the names that it exports, and says what is missing") {
  Copies copies;
  copies.strip();
  probe::Place exported;
  probe::outermost(exported);
  probe::Place local;
  probe::through_local(local);
  Profile profile =
      symbolize_addresses(copies.loaded(exported.address), {exported.address, local.address});
  REQUIRE(profile.locations[0].lines.size() == 1);
  CHECK(profile.locations[0].lines[0].function == "probe::outermost");
  CHECK(profile.locations[0].lines[0].file.empty());
  CHECK_FALSE(profile.locations[1].has_name());
  const std::string& problem = profile.modules[0].symbol_problem;
  CHECK(problem.starts_with("1 of 2 addresses have no name: "));
  CHECK(problem.find("stripped") != std::string::npos);
  CHECK(problem.find("DEBUGINFOD_URLS") != std::string::npos);
}

TEST_CASE("elf_symbols: a function without a name goes by its start, as its symbol had it") {
  Copies copies;
  copies.strip();
  probe::Place local;
  probe::through_local(local);
  const LoadedModule loaded = copies.loaded(local.address);
  FileNamer namer(honest_naming());
  const auto all = namer.functions(*open_module_file(paths::kProbe));
  REQUIRE(all.has_value());
  const Address linked = local.address - loaded.module.load_bias;
  const auto truth = std::find_if(all->begin(), all->end(), [&](const FunctionSymbol& each) {
    return each.start <= linked && linked < each.end;
  });
  REQUIRE(truth != all->end());
  const Address start = truth->start + loaded.module.load_bias;
  const Profile profile = symbolize_addresses(loaded, {start, local.address, start - 1});
  const std::string name = "libprobe.so+" + hex(truth->start);
  REQUIRE(profile.locations[0].lines.size() == 1);
  REQUIRE(profile.locations[1].lines.size() == 1);
  CHECK(profile.locations[0].lines[0].function == name);
  CHECK(profile.locations[1].lines[0].function == name);
  const std::vector<SourceLine>& before = profile.locations[2].lines;
  CHECK((before.empty() || before[0].function != name));
}

TEST_CASE("elf_symbols: a debug link beside the file gives lines and inlined calls back") {
  Copies copies;
  copies.objcopy(std::string("--only-keep-debug --remove-section=.note.gnu.build-id '") +
                 paths::kProbe + "' '" + copies.debug + "'");
  copies.strip("--add-gnu-debuglink=libprobe.debug");
  probe::Place place;
  probe::outermost(place);
  Profile profile = symbolize_addresses(copies.loaded(place.address), {place.address});
  CHECK(profile.modules[0].symbol_problem.empty());
  const std::vector<SourceLine>& lines = profile.locations[0].lines;
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].line == place.line);
  CHECK(lines[2].line == place.outer_line);
}

TEST_CASE("elf_symbols: a debug file of another build does not hide the right one elsewhere") {
  Copies copies;
  copies.objcopy(std::string("--only-keep-debug --remove-section=.note.gnu.build-id '") +
                 paths::kProbe + "' '" + copies.debug + "'");
  copies.strip("--add-gnu-debuglink=libprobe.debug");
  const std::string stale = copies.folder.path() + "/stale";
  std::filesystem::create_directory(stale);
  std::filesystem::copy_file(copies.stripped, stale + "/libprobe.debug");
  probe::Place place;
  probe::outermost(place);
  const auto named = [&] {
    FileNamer::Options options = honest_naming();
    options.debug_folders = {stale};
    return symbolize_addresses(copies.loaded(place.address), {place.address}, {},
                               std::move(options));
  };
  Profile profile = named();
  CHECK(profile.modules[0].symbol_problem.empty());
  CHECK(profile.locations[0].lines.size() == 3);
  // Without it, it is said which file was refused.
  std::filesystem::remove(copies.debug);
  profile = named();
  CHECK(profile.locations[0].lines.size() == 1);
  const std::string& problem = profile.modules[0].symbol_problem;
  INFO(problem);
  CHECK(problem.find(stale + "/libprobe.debug is of another build") != std::string::npos);
}

TEST_CASE("elf_symbols: a debug link that has the program's own name leads to another place") {
  Copies copies;
  std::filesystem::create_directory(copies.folder.path() + "/.debug");
  copies.objcopy(std::string("--only-keep-debug --remove-section=.note.gnu.build-id '") +
                 paths::kProbe + "' .debug/libprobe.so");
  copies.strip("--add-gnu-debuglink=.debug/libprobe.so");
  probe::Place place;
  probe::outermost(place);
  const Profile profile = symbolize_addresses(copies.loaded(place.address), {place.address});
  CHECK(profile.modules[0].symbol_problem.empty());
  CHECK(profile.locations[0].lines.size() == 3);
}

// Puts the symbols that strip(1) took away into the stripped probe, packed.
static void add_packed_symbols(const Copies& copies, const std::string& pack) {
  copies.objcopy(std::string("--strip-debug '") + paths::kProbe + "' names");
  const std::string packed = "cd '" + copies.folder.path() + "' && " + pack;
  if (std::system("command -v xz >/dev/null") != 0) skip_test("xz is not installed");
  REQUIRE(std::system(packed.c_str()) == 0);  // NOLINT(cert-env33-c): fixed words of this test
  copies.strip("--add-section=.gnu_debugdata=packed");
}

TEST_CASE("elf_symbols: packed symbols in the file give local functions their names") {
  Copies copies;
  add_packed_symbols(copies, "xz -c names > packed");
  probe::Place exported;
  probe::outermost(exported);
  probe::Place local;
  probe::through_local(local);
  // The function reaches up to the next symbol where all symbols are there. Otherwise its end is
  // unknown.
  const Address unsized = reinterpret_cast<Address>(&probe_unsized) + 8;
  const Profile profile =
      symbolize_addresses(copies.loaded(local.address), {exported.address, local.address, unsized});
  REQUIRE(profile.locations[0].has_name());
  REQUIRE(profile.locations[1].has_name());
  CHECK(profile.locations[0].lines[0].function == "probe::outermost");
  CHECK(profile.locations[1].lines[0].function.str().find("local_function") != std::string::npos);
  REQUIRE(profile.locations[2].has_name());
  CHECK(profile.locations[2].lines[0].function == "probe_unsized");
  CHECK(profile.modules[0].symbol_problem.empty());
}

TEST_CASE("elf_symbols: packed symbols that are damaged, or too large, cost themselves alone") {
  struct Bad {
    const char* pack;
    const char* why;
  };
  const Bad bads[] = {
      {"xz -c names | head -c 600 > packed", "packed symbols (.gnu_debugdata) cannot be unpacked"},
      {"echo no xz > packed", "packed symbols (.gnu_debugdata) cannot be unpacked"},
      {"(cat names; head -c 600M /dev/zero) | xz -1 -c > packed", "536,870,912 bytes"}};
  for (const Bad& bad : bads) {
    INFO(bad.pack);
    Copies copies;
    add_packed_symbols(copies, bad.pack);
    probe::Place exported;
    probe::outermost(exported);
    probe::Place local;
    probe::through_local(local);
    const Profile profile =
        symbolize_addresses(copies.loaded(local.address), {exported.address, local.address});
    REQUIRE(profile.locations[0].has_name());
    CHECK(profile.locations[0].lines[0].function == "probe::outermost");
    CHECK_FALSE(profile.locations[1].has_name());
    INFO(profile.modules[0].symbol_problem);
    CHECK(profile.modules[0].symbol_problem.find(bad.why) != std::string::npos);
  }
}

TEST_CASE("elf_symbols: a debug link to a FIFO is not opened") {
  Copies copies;
  copies.objcopy(std::string("--only-keep-debug --remove-section=.note.gnu.build-id '") +
                 paths::kProbe + "' '" + copies.debug + "'");
  copies.strip("--add-gnu-debuglink=libprobe.debug");
  std::filesystem::remove(copies.debug);
  REQUIRE(::mkfifo(copies.debug.c_str(), 0600) == 0);
  probe::Place local;
  probe::through_local(local);
  Profile profile = symbolize_addresses(copies.loaded(local.address), {local.address});
  CHECK_FALSE(profile.locations[0].has_name());
  CHECK(profile.modules[0].symbol_problem.find("not opened") != std::string::npos);
}

TEST_CASE("elf_symbols: a debug file in a folder that others can change is not opened, and why") {
  Copies copies;
  copies.objcopy(std::string("--only-keep-debug --remove-section=.note.gnu.build-id '") +
                 paths::kProbe + "' '" + copies.debug + "'");
  copies.strip("--add-gnu-debuglink=libprobe.debug");
  REQUIRE(::chmod(copies.folder.path().c_str(), 0777) == 0);
  probe::Place local;
  probe::through_local(local);
  const LoadedModule loaded = copies.loaded(local.address);
  const Profile refused = symbolize_addresses(loaded, {local.address});
  CHECK_FALSE(refused.locations[0].has_name());
  CHECK(refused.modules[0].symbol_problem.find("others can change its folder; --debug-dir") !=
        std::string::npos);

  // With --debug-dir the user vouches for this folder.
  FileNamer::Options naming = honest_naming();
  naming.debug_folders = {copies.folder.path()};
  const Profile trusted = symbolize_addresses(loaded, {local.address}, {}, std::move(naming));
  REQUIRE(trusted.locations[0].lines.size() == 1);
  CHECK(trusted.locations[0].lines[0].line == local.line);
  CHECK(trusted.modules[0].symbol_problem.empty());
}

TEST_CASE("elf_symbols: --debug-dir is searched by build ID, and another build is not taken") {
  Copies copies;
  copies.objcopy(std::string("--strip-all '") + paths::kProbe + "' '" + copies.stripped + "'");
  probe::Place local;
  probe::through_local(local);
  const LoadedModule loaded = copies.loaded(local.address);
  const std::string id = symbolize_addresses(loaded, {local.address}).modules[0].build_id;
  REQUIRE(id.size() == 40);
  const std::string folder = copies.folder.path() + "/debug/.build-id/" + id.substr(0, 2);
  std::filesystem::create_directories(folder);
  const std::string file = folder + "/" + id.substr(2) + ".debug";
  const auto lines = [&] {
    FileNamer::Options naming = honest_naming();
    naming.debug_folders = {copies.folder.path() + "/debug"};
    return symbolize_addresses(loaded, {local.address}, {}, std::move(naming));
  };
  std::filesystem::copy_file(paths::kStaticProbe, file);
  const Profile other = lines();
  CHECK_FALSE(other.locations[0].has_name());
  CHECK(other.modules[0].symbol_problem.find("of another build") != std::string::npos);
  std::filesystem::remove(file);
  // Builds may be given one build ID: this one has its code elsewhere.
  copies.objcopy(std::string("--only-keep-debug --change-section-address .fini+16 '") +
                 paths::kProbe + "' '" + file + "'");
  const Profile moved = lines();
  CHECK_FALSE(moved.locations[0].has_name());
  CHECK(moved.modules[0].symbol_problem.find("of another build") != std::string::npos);
  std::filesystem::remove(file);
  copies.objcopy(std::string("--only-keep-debug '") + paths::kProbe + "' '" + file + "'");
  const Profile right = lines();
  REQUIRE(right.locations[0].lines.size() == 1);
  CHECK(right.locations[0].lines[0].line == local.line);
}

namespace {

// A program in a container: its process's paths begin in a folder of ours.
struct Container {
  TempFolder root;
  std::string shown;  // what the kernel shows in front of its paths

  explicit Container(bool of_the_same_mount) : shown(of_the_same_mount ? root.path() : "") {}
  LoadedModule running(LoadedModule module) const {
    module.module.path = shown + "/opt/app/libprobe.so";
    module.file->root = std::make_shared<const ProcessRoot>(
        ProcessRoot{UniqueFd(::open(root.path().c_str(), O_PATH | O_DIRECTORY)),
                    shown.empty() ? "/" : shown});
    return module;
  }
  std::string folder(const std::string& name) const {
    std::filesystem::create_directories(root.path() + name);
    return root.path() + name;
  }
};

}  // namespace

TEST_CASE("elf_symbols: debug files of a container are looked for below its root, by name") {
  const std::string place = GENERATE("/opt/app", "/opt/app/.debug", "/usr/lib/debug/opt/app");
  const Container container(GENERATE(false, true));
  CAPTURE(place, container.shown);
  Copies copies;
  const std::string debug = container.folder(place) + "/libprobe.debug";
  copies.objcopy(std::string("--only-keep-debug --remove-section=.note.gnu.build-id '") + paths::kProbe + "' '" +
                 debug + "'");
  copies.strip("--add-gnu-debuglink='" + debug + "'");
  probe::Place local;
  probe::through_local(local);
  const auto named = [&] {
    return symbolize_addresses(container.running(copies.loaded(local.address)), {local.address});
  };
  Profile profile = named();
  INFO(profile.modules[0].symbol_problem);
  REQUIRE(profile.locations[0].lines.size() == 1);
  CHECK(profile.locations[0].lines[0].line == local.line);
  SECTION("and not where others could put another one") {
    REQUIRE(::chmod(container.folder(place).c_str(), 0777) == 0);
    profile = named();
    CHECK_FALSE(profile.locations[0].has_name());
    CHECK(profile.modules[0].symbol_problem.find("others can change its folder") !=
          std::string::npos);
  }
  SECTION("and not through a link, which may lead out of it") {
    const std::string moved = copies.folder.path() + "/moved";
    std::filesystem::rename(container.folder(place), moved);
    std::filesystem::create_directory_symlink(moved, container.root.path() + place);
    CHECK_FALSE(named().locations[0].has_name());
  }
}

TEST_CASE("elf_symbols: debug files of a container are looked for below its root, by build ID") {
  const Container container(GENERATE(false, true));
  Copies copies;
  copies.objcopy(std::string("--strip-all '") + paths::kProbe + "' '" + copies.stripped + "'");
  probe::Place local;
  probe::through_local(local);
  const LoadedModule loaded = container.running(copies.loaded(local.address));
  const Profile before = symbolize_addresses(loaded, {local.address});
  CHECK(before.modules[0].symbol_problem.find("/usr/lib/debug of its container") !=
        std::string::npos);
  const std::string id = before.modules[0].build_id;
  const std::string debug = container.folder("/usr/lib/debug/.build-id/" + id.substr(0, 2)) + "/" +
                            id.substr(2) + ".debug";
  copies.objcopy(std::string("--only-keep-debug '") + paths::kProbe + "' '" + debug + "'");
  const Profile profile = symbolize_addresses(loaded, {local.address});
  REQUIRE(profile.locations[0].lines.size() == 1);
  CHECK(profile.locations[0].lines[0].line == local.line);
}

namespace {

Profile named_by_symbols(const LoadedModule& loaded, const std::vector<Address>& addresses) {
  FileNamer::Options naming = honest_naming();
  naming.debug_information = false;
  return symbolize_addresses(loaded, addresses, {}, std::move(naming));
}

void check_one_function(const Location& location, const std::string& function) {
  REQUIRE(location.lines.size() == 1);
  CHECK(location.lines[0].function == function);
  CHECK(location.lines[0].system_name.str().starts_with("_Z"));
  CHECK(location.lines[0].file.empty());
  CHECK(location.lines[0].line == 0);
}

constexpr const char* kLocal = "probe::(anonymous namespace)::local_function";

}  // namespace

TEST_CASE("elf_symbols: without debug information a frame is its function, whole and demangled") {
  probe::Place inlined;
  probe::outermost(inlined);
  probe::Place local;
  probe::through_local(local);
  const Profile profile =
      named_by_symbols(module_at(inlined.address), {inlined.address, local.address});
  check_one_function(profile.locations[0], "probe::outermost");
  check_one_function(profile.locations[1], kLocal);
  CHECK(profile.modules[0].symbol_problem.empty());
  CHECK(profile.modules[0].build_id.size() == 40);
}

TEST_CASE("elf_symbols: without debug information, debug files and packed symbols give names") {
  probe::Place inlined;
  probe::outermost(inlined);
  probe::Place local;
  probe::through_local(local);
  const auto check = [&](const Copies& copies) {
    const Profile profile =
        named_by_symbols(copies.loaded(local.address), {inlined.address, local.address});
    check_one_function(profile.locations[0], "probe::outermost");
    check_one_function(profile.locations[1], kLocal);
    CHECK(profile.modules[0].symbol_problem.empty());
  };
  Copies beside;
  beside.objcopy(std::string("--only-keep-debug --remove-section=.note.gnu.build-id '") +
                 paths::kProbe + "' '" + beside.debug + "'");
  beside.strip("--add-gnu-debuglink=libprobe.debug");
  check(beside);
  Copies packed;
  add_packed_symbols(packed, "xz -c names > packed");
  check(packed);
}

TEST_CASE("elf_symbols: without debug information, a debug file is not looked for in vain") {
  Copies copies;
  copies.objcopy(std::string("--strip-debug '") + paths::kProbe + "' '" + copies.stripped + "'");
  for (const auto from : {NamesFrom::kDebugInformation, NamesFrom::kSymbols}) {
    bool asked = false;
    const FindDebugFile nothing = [&](const WantedDebugFile&) {
      asked = true;
      return FoundDebugFile();
    };
    UniqueFd file(::open(copies.stripped.c_str(), O_RDONLY | O_CLOEXEC));
    const auto symbols = ElfSymbols::open(std::move(file), {.from = from, .limits = {}}, nothing);
    REQUIRE(symbols.has_value());
    CHECK(asked == (from == NamesFrom::kDebugInformation));
    CHECK_FALSE((*symbols)->has_lines());
    CHECK_FALSE((*symbols)->is_stripped());
  }
}

// Makes a section of the file one that is compressed, and a terabyte large.
static void pack(const std::string& path, const std::function<bool(const Elf64_Shdr&)>& which) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  Elf64_Ehdr header;
  REQUIRE(file.read(reinterpret_cast<char*>(&header), sizeof header));
  for (std::uint64_t i = 0, at = header.e_shoff; i < header.e_shnum;
       ++i, at += sizeof(Elf64_Shdr)) {
    Elf64_Shdr section;
    REQUIRE(file.seekg(static_cast<std::streamoff>(at)));
    REQUIRE(file.read(reinterpret_cast<char*>(&section), sizeof section));
    if (!which(section)) continue;
    section.sh_flags |= SHF_COMPRESSED;
    REQUIRE(file.seekp(static_cast<std::streamoff>(at)));
    REQUIRE(file.write(reinterpret_cast<const char*>(&section), sizeof section));
    const Elf64_Chdr packed{ELFCOMPRESS_ZLIB, 0, std::uint64_t{1} << 40, 1};
    REQUIRE(file.seekp(static_cast<std::streamoff>(section.sh_offset)));
    REQUIRE(file.write(reinterpret_cast<const char*>(&packed), sizeof packed));
    return;
  }
  FAIL("there is no such section");
}

TEST_CASE("elf_symbols: without debug information, only what is packed of symbols has to be paid") {
  const auto is_debug = [](const Elf64_Shdr& section) {
    return section.sh_type == SHT_PROGBITS && (section.sh_flags & SHF_ALLOC) == 0 &&
           section.sh_size > sizeof(Elf64_Chdr);
  };
  const auto is_symbols = [](const Elf64_Shdr& section) { return section.sh_type == SHT_SYMTAB; };
  probe::Place local;
  probe::through_local(local);
  for (const bool symbols : {false, true}) {
    Copies copies;
    copies.objcopy(std::string("--only-keep-debug --remove-section=.note.gnu.build-id '") +
                   paths::kProbe + "' '" + copies.debug + "'");
    pack(copies.debug, symbols ? std::function<bool(const Elf64_Shdr&)>(is_symbols) : is_debug);
    copies.objcopy(std::string("--strip-all --remove-section=.note.gnu.build-id ") +
                   "--add-gnu-debuglink=libprobe.debug '" + paths::kProbe + "' '" +
                   copies.stripped + "'");
    const Profile profile = named_by_symbols(copies.loaded(local.address), {local.address});
    INFO(profile.modules[0].symbol_problem);
    if (!symbols) {
      check_one_function(profile.locations[0], kLocal);
      CHECK(profile.modules[0].symbol_problem.empty());
    } else {
      CHECK_FALSE(profile.locations[0].has_name());
      CHECK(profile.modules[0].symbol_problem.find("536,870,912 bytes") != std::string::npos);
    }
  }
}
