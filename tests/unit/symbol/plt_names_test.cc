// Compares the names of procedure linkage tables, as several linkers write them, with those that
// objdump gives.
#include <cstdio>
#include <map>
#include <memory>

#include "cli/names/demangle.h"
#include "loaded_module.h"
#include "support/catch.h"
#include "unit/reader/elf_bytes.h"

using namespace labelscope::cli;  // NOLINT(google-build-using-namespace): a test of this namespace
using labelscope::test::fixture_path;

namespace {

using Names = std::map<std::uint64_t, std::string>;

// objdump writes "0000000000001030 <strlen@plt>:" in front of the code of each entry that it knows,
// and "strlen$plt" where mold has made a symbol of that name.
Names named_by_objdump(const std::string& path) {
  const std::string tool = LABELSCOPE_OBJDUMP;
  if (tool.empty()) skip_test("objdump is not installed (Debian package binutils)");
  const std::string command = tool + " --disassemble '" + path + "'";
  std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), pclose);
  REQUIRE(output != nullptr);
  Names names;
  char line[512];
  while (std::fgets(line, sizeof line, output.get()) != nullptr) {
    unsigned long address = 0;
    char name[256];
    if (std::sscanf(line, "%lx <%255[^>]>:", &address, name) != 2) continue;
    std::string text = name;
    if (text.ends_with("$plt")) text.replace(text.size() - 4, 1, "@");
    if (text.ends_with("@plt")) names[address] = text;
  }
  return names;
}

// Returns the names of all 16 bytes of each entry, and of what lies beside.
Names named_by_us(const std::string& path, const Names& entries) {
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t at = entries.begin()->first - 64; at < entries.rbegin()->first + 64; ++at) {
    addresses.push_back(at);
  }
  LoadedModule loaded;
  loaded.module.kind = ProfileModule::Kind::kFile;
  loaded.module.path = path;
  loaded.file = open_module_file(path);
  const Profile profile = symbolize_addresses(loaded, addresses);
  Names names;
  for (const Location& location : profile.locations) {
    if (!location.lines.empty()) names[location.address] = location.lines.back().system_name;
  }
  return names;
}

}  // namespace

TEST_CASE("plt_names: entries have the names that objdump gives them") {
  const std::string linker = GENERATE("bfd", "bfd_ibt", "lld", "lld_ibt", "mold");
  const std::string path = fixture_path("libplt_" + linker + ".so");
  CAPTURE(path);
  const Names wanted = named_by_objdump(path);
  REQUIRE(wanted.size() >= 3);  // strlen, abs, atoi
  const Names names = named_by_us(path, wanted);
  std::size_t named = 0;
  for (const auto& [address, name] : wanted) {
    CAPTURE(name);
    CHECK(names.at(address) == name);
    CHECK(names.at(address + 5) == name);
    CHECK((!names.contains(address - 1) || names.at(address - 1) != name));
    ++named;
  }
  std::map<std::string, std::size_t> sizes;
  for (const auto& [address, name] : names) {
    if (name.ends_with("@plt")) ++sizes[name];
  }
  CHECK(sizes.size() == named);  // nothing else has a name of this kind
  for (const auto& [name, size] : sizes) CHECK(size <= 16);
}

TEST_CASE("plt_names: the name of a function in C++ is shown as people write it") {
  CHECK(demangle("_Znwm@plt") == "operator new@plt");
  CHECK(demangle("strlen@plt") == "strlen@plt");
  CHECK(demangle("@plt") == "@plt");
}
