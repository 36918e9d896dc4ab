// Tests names of a Go program without symbols, which are those that its runtime uses.
#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "cli/names/elf_symbols.h"
#include "cli/names/function_table.h"
#include "support/catch.h"
#include "support/paths.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

UniqueFd program(const std::string& name) {
  const std::string path = std::string(paths::kGoLabels) + "/" + name;
  if (!std::filesystem::exists(path)) skip_test("go is not installed");
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(file.valid());
  return file;
}

FunctionSymbol function_of(const UniqueFd& file, const std::string& name) {
  const auto functions = read_functions(file.get());
  REQUIRE(functions);
  const auto found =
      std::find_if(functions->begin(), functions->end(),
                   [&](const FunctionSymbol& function) { return function.name == name; });
  INFO(name);
  REQUIRE(found != functions->end());
  return *found;
}

}  // namespace

TEST_CASE("go names: a stripped program has the functions of its twin") {
  for (const char* name : {"main.unit", "runtime.mallocgc", "runtime.memclrNoHeapPointers"}) {
    CHECK(function_of(program("stripped"), name).start ==
          function_of(program("static"), name).start);
  }
}

TEST_CASE("go names: addresses of a stripped program have names, and others lack symbols") {
  for (const auto from :
       {NamesFrom::kDebugInformation, NamesFrom::kSymbols, NamesFrom::kOwnSymbols}) {
    const FindDebugFile nothing = [](const WantedDebugFile&) { return FoundDebugFile{}; };
    const auto symbols =
        ElfSymbols::open(program("stripped"), {.from = from, .limits = {}}, nothing);
    REQUIRE(symbols);
    const FunctionSymbol unit = function_of(program("static"), "main.unit");
    for (const Address at : {unit.start, unit.end - 1}) {
      const auto lines = (*symbols)->find(at, true);
      REQUIRE(lines.size() == 1);
      CHECK(lines[0].system_name == "main.unit");
    }
    CHECK((*symbols)->left_out().empty());
    // Code in C that is linked into such a program: a debug file would help.
    CHECK((*symbols)->is_stripped());
    CHECK((*symbols)->why_nameless().find("functions in Go have names") != std::string::npos);
  }
}
