// The table of rules is complete and in order, and each rule is found.
#include "sources/custom_labels/rules.h"

#include <array>
#include <cstdio>
#include <set>
#include <string>

#include "cli/check/wording.h"
#include "findings/check_rule.h"
#include "support/catch.h"

namespace labelscope::test {

TEST_CASE(
    "rules: each has its own code and name, in order, and says everything that is asked of it") {
  std::set<std::string> names;
  const char* last = "";
  for (const Rule& rule : all_rules()) {
    INFO(rule.code);
    CHECK(&rule_of(rule.id) == &rule);
    std::array<char, 8> code;
    std::snprintf(code.data(), code.size(), "LS%03d", static_cast<int>(rule.id));
    CHECK(std::string(code.data()) == rule.code);
    CHECK(std::string(last) < rule.code);
    last = rule.code;
    CHECK(names.insert(rule.name).second);
    for (const char* text : {rule.title, rule.section, rule.requirement, rule.reason, rule.fix}) {
      CHECK(!std::string(text).empty());
    }
    CHECK(std::string(rule.title).back() != '.');
  }
  CHECK(names.size() == all_rules().size());
}

TEST_CASE("rules: found by code and by name") {
  REQUIRE(find_rule("LS031") != nullptr);
  CHECK(find_rule("LS031")->id == abi_v1::kLibraryTlsDescriptor);
  CHECK(find_rule("library-tls-descriptor") == find_rule("LS031"));
  for (const char* typed : {"31", "031", "LS31", "ls031"}) {
    CHECK(find_rule(typed) == find_rule("LS031"));
  }
  CHECK(find_rule("LS999") == nullptr);
  CHECK(find_rule("LS") == nullptr);
  CHECK(find_rule("31x") == nullptr);
  CHECK(find_rule("-31") == nullptr);
  CHECK(find_rule("") == nullptr);
}

TEST_CASE("rules: an explanation fits a terminal and names each tool that has advice") {
  for (const Rule& rule : all_rules()) {
    const std::string text = cli::explain_rule(rule);
    INFO(text);
    std::size_t start = 0;
    for (std::size_t end = 0; (end = text.find('\n', start)) != std::string::npos;
         start = end + 1) {
      // A word, such as an option, may be longer than a line.
      const std::string line = text.substr(start, end - start);
      const std::size_t word = line.find_first_not_of(' ');
      const bool alone = word != std::string::npos && line.find(' ', word) == std::string::npos;
      CHECK((line.size() <= 80 || alone));
    }
    CHECK((text.find("\n  clang\n") != std::string::npos) == (rule.fix_clang != nullptr));
    CHECK((text.find("\n  Rust\n") != std::string::npos) == (rule.fix_rust != nullptr));
  }
}

}  // namespace labelscope::test
