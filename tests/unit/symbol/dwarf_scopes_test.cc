// Tests functions, inlined calls and lines of code that reports its own place (probe.cc).
#include <cstdio>
#include <memory>

#include "loaded_module.h"
#include "probe.h"
#include "support/catch.h"
#include "support/paths.h"

using namespace labelscope::cli;  // NOLINT(google-build-using-namespace): a test of this namespace

namespace {

std::vector<SourceLine> lines_at(std::uint64_t address, const SymbolizerOptions& options = {}) {
  LoadedModule loaded = module_at(address);
  REQUIRE_FALSE(loaded.module.path.empty());
  Profile profile = symbolize_addresses(loaded, {address}, options);
  CHECK(profile.modules[0].symbol_problem.empty());
  return profile.locations[0].lines;
}

void check_file(const SourceLine& line) {
  CHECK(line.file.size() > 8);
  CHECK(line.file.str().substr(line.file.str().rfind('/') + 1) == "probe.cc");
}

void check_three(const std::vector<SourceLine>& lines, const probe::Place& place) {
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].function == "probe::(anonymous namespace)::innermost");
  CHECK(lines[0].line == place.line);
  CHECK(lines[1].function == "probe::(anonymous namespace)::Caller<probe::Place>::middle");
  CHECK(lines[1].line == place.call_line);
  CHECK(lines[2].function == "probe::outermost");
  CHECK(lines[2].system_name == "_ZN5probe9outermostERNS_5PlaceE");
  CHECK(lines[2].line == place.outer_line);
  for (const SourceLine& line : lines) check_file(line);
}

}  // namespace

TEST_CASE("dwarf_scopes: inlined calls come innermost first, each with the line of its call") {
  probe::Place place;
  probe::outermost(place);
  check_three(lines_at(place.address), place);
}

TEST_CASE("dwarf_scopes: without inlined calls the outermost function stays, with its own line") {
  probe::Place place;
  probe::outermost(place);
  SymbolizerOptions options;
  options.inlined = false;
  std::vector<SourceLine> lines = lines_at(place.address, options);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].function == "probe::outermost");
  CHECK(lines[0].line == place.outer_line);
}

TEST_CASE("dwarf_scopes: C functions, file-local functions and lambdas have their name and line") {
  probe::Place place;
  probe_plain_c(&place);
  std::vector<SourceLine> lines = lines_at(place.address);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].function == "probe_plain_c");
  CHECK(lines[0].line == place.line);

  probe::through_local(place);
  lines = lines_at(place.address);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].function == "probe::(anonymous namespace)::local_function");
  CHECK(lines[0].line == place.line);

  probe::through_lambda(place);
  lines = lines_at(place.address);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].function.str().starts_with("probe::through_lambda"));
  CHECK(lines[0].function.str().find("lambda") != std::string::npos);
  CHECK(lines[0].line == place.line);
}

TEST_CASE("dwarf_scopes: of several names of one function it is the one that its source has") {
  probe::Place place;
  probe_named(&place);
  const std::vector<SourceLine> lines = lines_at(place.address);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].function == "probe_named");
  CHECK(lines[0].system_name == "probe_named");
  CHECK(lines[0].line == place.line);
}

TEST_CASE("dwarf_scopes: a static executable is read like any other") {
  skip_in_user_mode_emulation();
  std::unique_ptr<FILE, int (*)(FILE*)> output(popen(paths::kStaticProbe, "r"), pclose);
  REQUIRE(output != nullptr);
  probe::Place place;
  unsigned long long address = 0;
  REQUIRE(std::fscanf(output.get(), "%llu %d %d %d", &address, &place.line, &place.call_line,
                      &place.outer_line) == 4);
  LoadedModule loaded;
  loaded.module.kind = ProfileModule::Kind::kFile;
  loaded.module.path = paths::kStaticProbe;
  loaded.file = open_module_file(paths::kStaticProbe);
  // The program is linked to fixed addresses, so the load bias is zero.
  Profile profile = symbolize_addresses(loaded, {address});
  CHECK(profile.modules[0].symbol_problem.empty());
  check_three(profile.locations[0].lines, place);
}
