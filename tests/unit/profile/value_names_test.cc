// Files of names for values: both separators, quotation marks, what is refused, and what a rule
// makes of them.
#include "cli/profile/value_names.h"

#include "cli/profile/label_rules.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

ValueNames names_of(std::string_view text) {
  auto names = parse_value_names(text);
  REQUIRE(names);
  return *names;
}

std::string refusal_of(std::string_view text) {
  const auto names = parse_value_names(text);
  REQUIRE(!names);
  return names.error().context;
}

}  // namespace

TEST_CASE("names of values: a tab or a comma ends the value") {
  CHECK(names_of("") == ValueNames{});
  CHECK(names_of("1\tselect a, b\n\n-2,shop\r\n") ==
        ValueNames{{"1", "select a, b"}, {"-2", "shop"}});
  // The last line needs no end, and the first name of a value counts.
  CHECK(names_of("1,a\n1,b") == ValueNames{{"1", "a"}});
}

TEST_CASE("names of values: quotation marks keep separators, and two are one") {
  CHECK(names_of("1,\"select \"\"a\"\",\n   b\"\n2,c\n") ==
        ValueNames{{"1", "select \"a\", b"}, {"2", "c"}});
  CHECK(names_of("\"a,b\",c") == ValueNames{{"a,b", "c"}});
  // A mark that begins no column is a character like others.
  CHECK(names_of("1\tselect \"a\"\n") == ValueNames{{"1", "select \"a\""}});
}

TEST_CASE("names of values: a name is one line of bounded length") {
  CHECK(names_of("1\t  a \v b\f\r\n") == ValueNames{{"1", "a b"}});
  const std::string longest(200, 'x');
  CHECK(names_of("1," + longest).at("1") == longest);
  CHECK(names_of("1," + longest + "y").at("1") == longest + "...");
  // No character of UTF-8 is cut.
  CHECK(names_of("1," + std::string(199, 'x') + "\xC3\xA9").at("1") ==
        std::string(199, 'x') + "...");
}

TEST_CASE("names of values: what is wrong is said with its line") {
  CHECK(refusal_of("1,a\n2\n") ==
        "line 2: it has one column; wanted are a value, a tab or a comma, and its name");
  CHECK(refusal_of("1,\"a\n\nb\"\n,c\n") == "line 4: the value before the tab or comma is empty");
  CHECK(refusal_of("1, \n") == "line 1: the name behind the tab or comma is empty");
  CHECK(refusal_of("1,a\n2,\"b\n") == "line 2: the quotation mark is never closed");
}

TEST_CASE("label rules: a value has its name, others stay, and equal names are one") {
  const auto names = std::make_shared<const ValueNames>(names_of("1,one\n2,one\n"));
  LabelRules rules;
  rules.names = {{"id", names}, {"db", names}, {"typo", names}};
  Profile profile;
  for (const char* id : {"1", "2", "3"}) {
    profile.label_sets.push_back({{"id", id, 0}, {"db", "9", 0}});
    SampleRow row;
    row.label_set = static_cast<Index>(profile.label_sets.size() - 1);
    profile.rows.push_back(row);
  }
  const MetKeys met = apply_rules(rules, profile);
  CHECK(profile.label_sets == std::vector<LabelSet>{{{"id", "one", 0}, {"db", "9", 0}},
                                                    {{"id", "3", 0}, {"db", "9", 0}}});
  CHECK(profile.rows.size() == 2);
  CHECK(unmet_rules(rules, met) ==
        std::vector<std::string>{"--names db=...: no value of this label is in the file",
                                 "--names typo=...: no label has this key"});
}
