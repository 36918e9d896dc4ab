// The published records of testdata/otel are read directly, read as a BPF program sends them, and
// judged.
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "findings/check_rule.h"
#include "labelscope/observe.h"
#include "labelscope/process_facts.h"
#include "sources/label_codec.h"
#include "sources/label_source.h"
#include "support/catch.h"
#include "support/fake_memory.h"
#include "support/paths.h"

namespace labelscope::test {
namespace {

using Json = nlohmann::json;

constexpr Address kTp = 0x7000'1000;
constexpr Address kVariable = kTp - 8;
constexpr Address kPage = 0x7200'0000;

std::string bytes_of(const std::string& hex) {
  std::string digits;
  for (const char digit : hex) {
    if (digit != ' ') digits += digit;
  }
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

LabelSet labels_of(const Json& said) {
  LabelSet labels;
  for (const auto& [key, value] : said.items()) {
    labels.push_back({key, value.is_string() ? value.get<std::string>()
                                             : bytes_of(value.at("hex").get<std::string>())});
  }
  return labels;  // by key, as JSON objects are kept
}

LabelSet sorted(LabelSet labels) {
  std::ranges::sort(labels, {}, &Label::key);
  return labels;
}

}  // namespace

TEST_CASE("otel_cases: each published record is read and judged as it says") {
  std::ifstream file(std::string(paths::kTestdata) + "/otel/thread_context_v1.json");
  const Json cases = Json::parse(file).at("cases");
  REQUIRE(cases.size() >= 20);
  for (const Json& each : cases) {
    INFO(each.at("name"));
    const std::string record = bytes_of(each.at("record").get<std::string>());
    ProcessFacts said;
    said.keys = each.at("keys").get<std::vector<std::string>>();
    said.schema = "tlsdesc_v1_dev";
    const ProcessFacts* facts = said.keys.empty() ? nullptr : &said;
    FakeMemory memory;
    memory.put(kVariable, kPage);
    memory.put_text(kPage, record);
    const ThreadState thread{kTp, Tid{1}, nullptr, facts};
    ls_tls_recipe recipe{};
    recipe.kind = LS_TP_OFFSET;
    recipe.offset = -8;
    recipe.source = LS_SOURCE_OTEL_CONTEXT;

    const Observation seen = observe({&recipe, 1}, thread, memory);
    CHECK(std::string(outcome_name(seen.outcome)) == each.at("outcome").get<std::string>());
    CHECK(sorted(seen.labels) == labels_of(each.at("labels")));
    std::vector<std::byte> sent;
    const Observation taken = observe_as_bytes({&recipe, 1}, thread, memory, sent);
    if (taken.outcome == LS_LABELLED) {
      CHECK(sorted(decode_label_bytes(sent, {facts}).labels) == labels_of(each.at("labels")));
    } else {
      CHECK(taken.outcome == seen.outcome);
    }

    const SetCheck check =
        find_source(LS_SOURCE_OTEL_CONTEXT)
            ->check({.memory = memory, .variable = kVariable, .thread = &thread});
    std::set<std::string> broken;
    for (const Diagnostic& diagnostic : check.diagnostics) {
      broken.insert(rule_of(diagnostic.rule).code);
    }
    CHECK(broken == each.at("broken").get<std::set<std::string>>());
  }
}

}  // namespace labelscope::test
