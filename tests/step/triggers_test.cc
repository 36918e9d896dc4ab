// Tests names that the user declares, and what compilers make of names.
#include "cli/step/triggers.h"

#include "support/catch.h"

using labelscope::cli::DeclaredUpdates;
using labelscope::cli::source_name;

TEST_CASE("triggers: a word is a function, or a pair at its single colon") {
  const auto declared = DeclaredUpdates::parse({"f", "ns::g", "begin:end", "a::b:c::d::e"});
  CHECK(declared.functions == std::vector<std::string>{"f", "ns::g"});
  CHECK(declared.begins == std::vector<std::string>{"begin", "a::b", "labelscope_update_begin"});
  CHECK(declared.ends == std::vector<std::string>{"end", "c::d::e", "labelscope_update_end"});
}

TEST_CASE("code_map: parts and variants of a function have the name of the function") {
  CHECK(source_name("f.constprop.0") == "f");
  CHECK(source_name("f.isra.0.cold") == "f");
  CHECK(source_name("ns::f(int) [clone .part.0]") == "ns::f(int)");
  CHECK(source_name("f") == "f");
  CHECK(source_name("").empty());
}
