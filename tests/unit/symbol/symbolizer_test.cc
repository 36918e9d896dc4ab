// Tests the symbolizer's choices: where a name comes from, hooks, and reasons for addresses without
// names.
#include "cli/symbol/symbolizer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "loaded_module.h"
#include "probe.h"
#include "support/catch.h"
#include "support/no_threads.h"

using namespace labelscope::cli;  // NOLINT(google-build-using-namespace): a test of this namespace

namespace {

std::uint64_t address_of(void (*function)(probe::Place&)) {
  probe::Place place;
  function(place);
  return place.address;
}

__attribute__((noinline)) std::uint64_t return_address() {
  return reinterpret_cast<std::uint64_t>(__builtin_return_address(0)) - 1;
}

// qsort calls back, so the return address is inside libc.
std::uint64_t libc_address = 0;
int compare(const void* /*a*/, const void* /*b*/) {
  libc_address = reinterpret_cast<std::uint64_t>(__builtin_return_address(0)) - 1;
  return 0;
}

// Finds the mapping of this process with that name, as start and end.
bool mapping_named(const std::string& name, std::uint64_t& start, std::uint64_t& end) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with(name)) continue;
    return std::sscanf(line.c_str(), "%lx-%lx", &start, &end) == 2;
  }
  return false;
}

}  // namespace

TEST_CASE("symbolizer: functions of the running executable are found through its load bias") {
  std::uint64_t address = return_address();
  LoadedModule loaded = module_at(address);
  REQUIRE(loaded.module.path == "/proc/self/exe");
  Profile profile = symbolize_addresses(loaded, {address});
  REQUIRE_FALSE(profile.locations[0].lines.empty());
  CHECK(profile.locations[0].lines.back().file.str().ends_with("symbolizer_test.cc"));
  CHECK(profile.locations[0].lines.back().line > 0);
}

TEST_CASE("symbolizer: the build ID is taken from the file") {
  std::uint64_t address = address_of(probe::outermost);
  Profile profile = symbolize_addresses(module_at(address), {address});
  // --build-id=sha1
  CHECK(profile.modules[0].build_id.size() == 40);
  CHECK(profile.modules[0].build_id.find_first_not_of("0123456789abcdef") == std::string::npos);
}

TEST_CASE("symbolizer: a file of another build gives no names and says so") {
  std::uint64_t address = address_of(probe::outermost);
  LoadedModule loaded = module_at(address);
  loaded.module.build_id = "00ff";
  Profile profile = symbolize_addresses(loaded, {address});
  CHECK(profile.locations[0].lines.empty());
  CHECK(profile.modules[0].symbol_problem.find("another build") != std::string::npos);
  CHECK(profile.modules[0].build_id == "00ff");
}

TEST_CASE("symbolizer: libc has lines where its separate debug symbols are installed") {
  int numbers[2] = {2, 1};
  std::qsort(numbers, 2, sizeof numbers[0], compare);
  REQUIRE(libc_address != 0);
  LoadedModule loaded = module_at(libc_address);
  REQUIRE(loaded.module.path.find("libc.so") != std::string::npos);
  Profile profile = symbolize_addresses(loaded, {libc_address});
  const std::vector<SourceLine>& lines = profile.locations[0].lines;
  if (lines.empty() || lines[0].file.empty())
    skip_test("libc's debug symbols (libc6-dbg) are not installed");
  CHECK(lines[0].file.str().ends_with("msort.c"));
  CHECK(lines.back().function.str().find("msort_with_tmp") != std::string::npos);
  CHECK(profile.modules[0].symbol_problem.empty());
}

TEST_CASE("symbolizer: two modules of one file with different biases get the same names") {
  std::uint64_t address = address_of(probe::outermost);
  LoadedModule loaded = module_at(address);
  Profile profile;
  profile.modules = {loaded.module, loaded.module};
  profile.modules[1].load_bias += 0x10000;
  profile.locations = {{0, address, {}}, {1, address + 0x10000, {}}};
  // The module is opened twice, but the file counts once.
  FileNamer namer(honest_naming());
  symbolize(profile, {loaded.file, open_module_file(loaded.module.path)}, namer, {});
  REQUIRE(profile.locations[0].lines.size() == 3);
  REQUIRE(profile.locations[1].lines.size() == 3);
  CHECK(profile.locations[1].lines[2].function == profile.locations[0].lines[2].function);
  CHECK(profile.locations[1].lines[0].line == profile.locations[0].lines[0].line);
}

TEST_CASE("symbolizer: the vDSO is named from our own, and stays [vdso] where it does not fit") {
  ProfileModule module;
  module.kind = ProfileModule::Kind::kFile;
  module.path = "[vdso]";
  if (!mapping_named("[vdso]", module.start, module.end)) skip_test("this kernel maps no vDSO");
  Profile profile;
  profile.modules = {module, module};
  profile.modules[1].end += 0x100000;
  for (std::uint64_t at = module.start; at < module.end; at += 16)
    profile.locations.push_back({0, at, {}});
  profile.locations.push_back({1, module.start + 0x800, {}});
  FileNamer namer(honest_naming());
  symbolize(profile, {}, namer, {});
  std::size_t clock = 0;
  for (const Location& location : profile.locations) {
    REQUIRE(location.lines.size() == 1);
    if (location.lines[0].function.str().find("clock_gettime") != std::string::npos) ++clock;
  }
  CHECK(clock > 0);
  CHECK(profile.locations.back().lines[0].function == "[vdso]");
  // Its own functions are in no symbol table, so they are named by their starts.
  const std::string& problem = profile.modules[0].symbol_problem;
  CHECK((problem.empty() || problem.find("exported functions only") != std::string::npos));
}

TEST_CASE("symbolizer: kernel addresses are named as /proc/kallsyms has them") {
  std::ifstream kallsyms("/proc/kallsyms");
  std::uint64_t address = 0;
  for (std::string line; std::getline(kallsyms, line);) {
    char name[64] = {};
    char type = 0;
    unsigned long long at = 0;
    if (std::sscanf(line.c_str(), "%llx %c %63s", &at, &type, name) == 3 &&
        std::string(name) == "schedule")
      address = at;
  }
  LoadedModule kernel;
  kernel.module.kind = ProfileModule::Kind::kKernel;
  kernel.module.path = "[kernel]";
  if (address == 0) {
    Profile profile = symbolize_addresses(kernel, {0xffffffff81000000});
    CHECK(profile.locations[0].lines.empty());
    CHECK_FALSE(profile.modules[0].symbol_problem.empty());
    skip_test("the kernel hides its symbols: " + profile.modules[0].symbol_problem);
  }
  Profile profile = symbolize_addresses(kernel, {address + 1, 0x1000});
  REQUIRE(profile.locations[0].lines.size() == 1);
  CHECK(profile.locations[0].lines[0].function == "schedule");
  CHECK(profile.locations[1].lines.empty());
  CHECK(profile.modules[0].symbol_problem ==
        "1 of 2 addresses have no name: no kernel symbol covers the address");
  // Without a thread that reads them beside, they are read when they are needed.
  const NoThreads no_threads;
  profile = symbolize_addresses(kernel, {address + 1});
  REQUIRE(profile.locations[0].lines.size() == 1);
  CHECK(profile.locations[0].lines[0].function == "schedule");
}

TEST_CASE("symbolizer: a module without a file has a reason, and the caller's own reason stays") {
  LoadedModule missing;
  missing.module.kind = ProfileModule::Kind::kFile;
  missing.module.path = "/gone";
  CHECK(symbolize_addresses(missing, {0x1000}).modules[0].symbol_problem ==
        "the file could not be opened");
  missing.module.symbol_problem = "deleted before it could be opened";
  CHECK(symbolize_addresses(missing, {0x1000}).modules[0].symbol_problem ==
        "deleted before it could be opened");
  LoadedModule anonymous;
  anonymous.module.path = "[anon]";
  CHECK(symbolize_addresses(anonymous, {0x1000}).modules[0].symbol_problem.find("generated code") !=
        std::string::npos);
}

TEST_CASE("symbolizer: locations of no module are left alone") {
  Profile profile;
  profile.locations = {{kNoIndex, 0x1000, {}}, {7, 0x2000, {}}};
  FileNamer namer(honest_naming());
  symbolize(profile, {}, namer, {});
  CHECK(profile.locations[0].lines.empty());
  CHECK(profile.locations[1].lines.empty());
}

TEST_CASE("symbolizer: cancelling leaves the rest without names and says so") {
  std::uint64_t address = address_of(probe::outermost);
  SymbolizerOptions options;
  bool cancelled = false;
  options.progress = [&cancelled](std::size_t done, std::size_t) { cancelled = done > 0; };
  options.cancelled = [&cancelled] { return cancelled; };
  std::vector<std::uint64_t> addresses(1000, address);
  for (std::size_t i = 0; i < addresses.size(); ++i) addresses[i] += i;
  Profile profile = symbolize_addresses(module_at(address), addresses, options);
  CHECK_FALSE(profile.locations.front().lines.empty());
  CHECK(profile.locations.back().lines.empty());
  CHECK(profile.modules[0].symbol_problem.find("asked to stop") != std::string::npos);
}

TEST_CASE("symbolizer: progress grows and ends with all locations") {
  std::uint64_t address = address_of(probe::outermost);
  SymbolizerOptions options;
  std::vector<std::size_t> seen;
  options.progress = [&seen](std::size_t done, std::size_t all) {
    CHECK(all == 1000);
    seen.push_back(done);
  };
  std::vector<std::uint64_t> addresses(1000, address);
  for (std::size_t i = 0; i < addresses.size(); ++i) addresses[i] += i;
  symbolize_addresses(module_at(address), addresses, options);
  REQUIRE(seen.size() > 2);
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK(seen.back() == 1000);
}
