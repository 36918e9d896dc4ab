// Functions of this program by address: one name is kept for each address.
#include "cli/names/function_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "labelscope/unique_fd.h"
#include "support/catch.h"
#include "temp_folder.h"

using namespace labelscope;
using namespace labelscope::cli;

// The names that must be dropped come first, so that keeping the first one would be wrong.
__asm__(
    ".text\n"
    ".type function_table_a_no_size, %function\n"
    "function_table_a_no_size:\n"
    ".type function_table_b_size, %function\n"
    "function_table_b_size: ret\n"
    ".size function_table_b_size, . - function_table_b_size\n"
    ".type __function_table_reserved, %function\n"
    "__function_table_reserved:\n"
    ".type function_table_plain, %function\n"
    "function_table_plain: ret\n"
    ".size function_table_plain, . - function_table_plain\n"
    ".size __function_table_reserved, . - __function_table_reserved\n"
    ".type function_table_z, %function\n"
    "function_table_z:\n"
    ".type function_table_y, %function\n"
    "function_table_y: ret\n"
    ".size function_table_y, . - function_table_y\n"
    ".size function_table_z, . - function_table_z\n");

TEST_CASE("function_table: of several names of one address one is kept, with its size") {
  const UniqueFd own(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  REQUIRE(own.valid());
  const auto functions = read_functions(own.get());
  REQUIRE(functions);
  CHECK(std::is_sorted(functions->begin(), functions->end(),
                       [](const auto& a, const auto& b) { return a.start < b.start; }));
  const auto find = [&](const std::string& name) {
    return std::find_if(functions->begin(), functions->end(),
                        [&](const FunctionSymbol& function) { return function.name == name; });
  };
  for (const char* kept : {"function_table_b_size", "function_table_plain", "function_table_y"}) {
    INFO(kept);
    const auto found = find(kept);
    REQUIRE(found != functions->end());
    CHECK(found->end > found->start);
  }
  for (const char* other :
       {"function_table_a_no_size", "__function_table_reserved", "function_table_z"}) {
    INFO(other);
    CHECK(find(other) == functions->end());
  }
}

TEST_CASE("function_table: a stripped file has the functions that its unwind tables have") {
  const std::string objcopy = LABELSCOPE_OBJCOPY;
  if (objcopy.empty()) skip_test("objcopy is not installed");
  const TempFolder folder;
  const std::string copy = folder.path() + "/stripped";
  const std::string command =
      "'" + objcopy + "' --strip-all /proc/" + std::to_string(::getpid()) + "/exe '" + copy + "'";
  REQUIRE(std::system(command.c_str()) == 0);
  const UniqueFd whole(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const UniqueFd stripped(::open(copy.c_str(), O_RDONLY | O_CLOEXEC));
  const auto named = read_functions(whole.get());
  const auto nameless = read_functions(stripped.get());
  REQUIRE(named);
  REQUIRE(nameless);
  const auto main = std::ranges::find(*named, "main", &FunctionSymbol::name);
  REQUIRE(main != named->end());
  const auto found = std::ranges::find(*nameless, main->start, &FunctionSymbol::start);
  REQUIRE(found != nameless->end());
  CHECK(found->end == main->end);
  CHECK(found->name.empty());
}

TEST_CASE("function_table: what is no ELF file has no functions") {
  const UniqueFd text(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  const auto functions = read_functions(text.get());
  REQUIRE_FALSE(functions);
  CHECK(functions.error().code == ErrorCode::kMalformed);
}
