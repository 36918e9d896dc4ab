// Tests damaged files and other hostile ones: each gives a reason and no name, never a crash.
#include <elf.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "loaded_module.h"
#include "probe.h"
#include "support/catch.h"
#include "support/paths.h"
#include "temp_folder.h"

using namespace labelscope::cli;  // NOLINT(google-build-using-namespace): a test of this namespace

namespace {

std::vector<char> probe_bytes() {
  std::ifstream file(paths::kProbe, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct HostileFile {
  TempFolder folder;
  std::string path = folder.path() + "/libprobe.so";

  Profile symbolize_with(const std::vector<char>& bytes,
                         const std::vector<std::uint64_t>& addresses) const {
    {
      std::ofstream file(path, std::ios::binary | std::ios::trunc);
      file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    LoadedModule loaded = module_at(addresses.front());
    loaded.module.path = path;
    loaded.file = open_module_file(path);
    return symbolize_addresses(loaded, addresses);
  }
};

std::uint64_t probe_address() {
  probe::Place place;
  probe::outermost(place);
  return place.address;
}

}  // namespace

TEST_CASE("elf_symbols: text, an empty file and a cut ELF header are refused with a reason") {
  HostileFile hostile;
  std::vector<char> bytes = probe_bytes();
  for (std::size_t size : {std::size_t{0}, std::size_t{4}, std::size_t{40}, std::size_t{64}}) {
    bytes.resize(size);
    Profile profile = hostile.symbolize_with(bytes, {probe_address()});
    CHECK(profile.locations[0].lines.empty());
    CHECK(profile.modules[0].symbol_problem.starts_with("the file cannot be used: "));
    bytes = probe_bytes();
  }
  std::string text = "#!/bin/sh\nexit 0\n";
  Profile profile = hostile.symbolize_with({text.begin(), text.end()}, {probe_address()});
  CHECK(profile.modules[0].symbol_problem == "the file cannot be used: it is not an ELF file");
}

TEST_CASE("elf_symbols: a file without section headers and dynamic symbols says what would help") {
  HostileFile hostile;
  std::vector<char> bytes = probe_bytes();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    char* at = bytes.data() + header.e_phoff + i * header.e_phentsize;
    Elf64_Phdr segment;
    std::memcpy(&segment, at, sizeof segment);
    if (segment.p_type == PT_DYNAMIC || segment.p_type == PT_NOTE) segment.p_type = PT_NULL;
    std::memcpy(at, &segment, sizeof segment);
  }
  header.e_shoff = 0;
  header.e_shnum = 0;
  header.e_shstrndx = 0;
  std::memcpy(bytes.data(), &header, sizeof header);
  Profile profile = hostile.symbolize_with(bytes, {probe_address()});
  CHECK_FALSE(profile.locations[0].has_name());
  const std::string& problem = profile.modules[0].symbol_problem;
  CHECK(problem.starts_with("the file has no symbol table and no debug information; no "));
  CHECK(problem.ends_with(
      "in /usr/lib/debug, or beside it; install its debug symbols (PACKAGE-dbgsym or "
      "PACKAGE-debuginfo) or set DEBUGINFOD_URLS"));
}

TEST_CASE(
    "elf_symbols: files cut anywhere never crash, and every address without a name has a reason") {
  HostileFile hostile;
  const std::vector<char> whole = probe_bytes();
  for (std::size_t eighth = 1; eighth < 16; ++eighth) {
    std::vector<char> cut(whole.begin(),
                          whole.begin() + static_cast<std::ptrdiff_t>(whole.size() * eighth / 16));
    Profile profile = hostile.symbolize_with(cut, {probe_address()});
    const bool named = profile.locations[0].has_name();
    CHECK(named == profile.modules[0].symbol_problem.empty());
  }
}

TEST_CASE("elf_symbols: flipped bytes in headers and debug information never crash") {
  HostileFile hostile;
  const std::vector<char> whole = probe_bytes();
  std::uint64_t address = probe_address();
  // The sequence is fixed, so that a failure can be repeated.
  std::uint64_t state = 88172645463325252U;
  for (int round = 0; round < 150; ++round) {
    std::vector<char> bytes = whole;
    for (int flip = 0; flip < 200; ++flip) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      bytes[64 + state % (bytes.size() - 64)] = static_cast<char>(state >> 56);
    }
    Profile profile =
        hostile.symbolize_with(bytes, {address, address + 1, address + 64, address + 4096});
    CHECK(profile.locations.size() == 4);
  }
}

TEST_CASE("elf_symbols: a folder or a device in place of a file is refused") {
  LoadedModule loaded = module_at(probe_address());
  for (const char* path : {"/", "/dev/zero"}) {
    loaded.file = open_module_file(path);
    Profile profile = symbolize_addresses(loaded, {probe_address()});
    CHECK(profile.modules[0].symbol_problem == "the file cannot be used: it is not a regular file");
  }
}

TEST_CASE("elf_symbols: a file that is cut while it is read does not end the reader") {
  HostileFile hostile;
  std::filesystem::copy_file(paths::kProbe, hostile.path);
  std::uint64_t address = probe_address();
  LoadedModule loaded = module_at(address);
  loaded.module.path = hostile.path;
  loaded.file = open_module_file(hostile.path);
  SymbolizerOptions options;
  options.cancelled = [&hostile] {
    std::filesystem::resize_file(hostile.path, 0);
    return false;
  };
  Profile profile = symbolize_addresses(loaded, {address, address + 1}, options);
  CHECK(profile.locations[0].lines.empty());
  CHECK(profile.modules[0].symbol_problem.starts_with("the file cannot be used: "));

  // Now the file is cut after it was opened. `cancelled` is called before the file's symbols are
  // loaded, and again afterwards.
  std::filesystem::remove(hostile.path);
  std::filesystem::copy_file(paths::kProbe, hostile.path);
  loaded.file = open_module_file(hostile.path);
  int asked = 0;
  options.cancelled = [&hostile, &asked] {
    if (++asked == 2) std::filesystem::resize_file(hostile.path, 0);
    return false;
  };
  profile = symbolize_addresses(loaded, {address, address + 1}, options);
  CHECK(asked >= 2);
  CHECK(profile.locations.size() == 2);
}
