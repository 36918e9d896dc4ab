// Every format keeps how stacks ended, and the numbers add up to the samples.
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "cli/format/common/ledger_text.h"
#include "cli/format/format.h"
#include "cli/format/jsonl/jsonl_reader.h"
#include "support/catch.h"
#include "unit/format/pprof_decoded.h"
#include "unit/format/profile_maker.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;

namespace {

using Ends = std::map<std::string, std::uint64_t>;

// Adds a stack of each end, with 1, 2, 4, .. samples of a nanosecond.
SmallProfile of_all_ends(Ends& truth) {
  SmallProfile small;
  for (int end = LS_STACK_NOT_WANTED + 1; end < LS_STACK_END_COUNT; ++end) {
    const Index stack = small.stack({0, 1});
    small.profile.stacks[stack].end = static_cast<ls_stack_end>(end);
    cli::SampleRow& row = small.sample(small.shop_thread, stack, small.no_labels, LS_UNLABELLED);
    row.count = row.weight_ns = std::uint64_t{1} << end;
    const std::string name(stack_end_name(static_cast<ls_stack_end>(end)));
    truth[name] = row.count;
    Ledger& ledger = small.profile.ledger;
    ledger.counters[stack_counter(static_cast<ls_stack_end>(end))] = row.count;
    ledger.counters[Counter::kTicks] = 1;  // stands behind them
    ledger.taken = ledger.written = ledger.outcomes[LS_UNLABELLED] += row.count;
  }
  return small;
}

// Reads "stacks-NAME 12; " of the ledger's comment.
Ends of_pprof(const std::string& bytes) {
  Ends ends;
  const std::string text = gunzip(bytes);
  const std::regex counter("stacks-([a-z0-9-]+) ([0-9]+);");
  for (std::sregex_iterator each(text.begin(), text.end(), counter), end; each != end; ++each) {
    ends[(*each)[1]] = std::stoull((*each)[2]);
  }
  return ends;
}

// The end stands below the process: "shop;[stack ends: NAME];..", or the stack is complete.
Ends of_folded(const std::string& text) {
  Ends ends;
  std::istringstream lines(text);
  const std::regex form("shop;(\\[stack ends: ([^\\]]+)\\];)?main;work ([0-9]+)");
  for (std::string line; std::getline(lines, line);) {
    std::smatch parts;
    REQUIRE(std::regex_match(line, parts, form));
    ends[parts[2].matched ? parts[2].str() : "whole"] += std::stoull(parts[3]);
  }
  return ends;
}

Ends of_html(const std::string& text) {
  const std::string kStart = "id=\"facts\">";
  const std::size_t start = text.find(kStart) + kStart.size();
  const auto facts =
      nlohmann::json::parse(text.substr(start, text.find("</script>", start) - start));
  Ends ends;
  for (const auto& [name, count] : facts.at("stacks").at("ends").items()) ends[name] = count;
  CHECK(facts.at("stacks").at("all") == facts.at("written"));
  return ends;
}

// Counts the ends of the samples themselves.
Ends of_jsonl(const std::string& text) {
  Ends ends;
  std::vector<std::string> end_of_stack;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json.at("type") == "stack") end_of_stack.push_back(json.at("end"));
    if (json.at("type") == "sample") {
      ends[end_of_stack.at(json.at("stack"))] += json.at("count").get<std::uint64_t>();
    }
  }
  return ends;
}

// Checks the names in formats whose numbers tests/formats adds up. (All of them name an end the
// same way.)
void check_names(const std::string& text, const Ends& truth) {
  for (const auto& [name, count] : truth) {
    if (name == "complete" || name == "at-entry") continue;
    CHECK(text.find(name) != std::string::npos);
  }
}

const std::map<std::string_view, std::function<Ends(const std::string&)>> kReaders = {
    {"pprof", of_pprof}, {"folded", of_folded}, {"html", of_html}, {"jsonl", of_jsonl}};

}  // namespace

TEST_CASE("stack ledger: every format has each end, and all are the samples") {
  Ends truth;
  const SmallProfile small = of_all_ends(truth);
  CHECK(adds_up(small.profile.ledger));
  for (const Format& format : kFormats) {
    INFO(format.name);
    std::ostringstream out;
    REQUIRE(format.render(small.profile, {}, out).has_value());
    if (!kReaders.contains(format.name)) {
      check_names(out.str(), truth);
      continue;
    }
    Ends expected = truth;
    if (format.name == "folded") {
      expected.erase("complete");
      expected.erase("at-entry");
      expected["whole"] = truth["complete"] + truth["at-entry"];
    }
    CHECK(kReaders.at(format.name)(out.str()) == expected);
  }
}

TEST_CASE("stack ledger: an end that a file does not have is unknown, and stays it") {
  SmallProfile small;
  small.profile.stacks[small.work_stack].end = LS_STACK_NOT_WANTED;
  small.sample(small.shop_thread, small.work_stack, small.no_labels, LS_UNLABELLED);
  std::stringstream lines;
  REQUIRE(render_jsonl(small.profile, {}, lines));
  CHECK(of_jsonl(lines.str()) == Ends{{"unknown", 1}});
  ReadBudget budget;
  const auto back = read_jsonl(lines, budget);
  REQUIRE(back);
  CHECK(back->profile.stacks[0].end == LS_STACK_NOT_WANTED);
  std::ostringstream table;
  REQUIRE(render_csv(small.profile, {}, table));
  CHECK(table.str().find(",unknown,") != std::string::npos);
}

TEST_CASE("stack ledger: the line at the end adds up, and a stack without an end is a defect") {
  Ends truth;
  SmallProfile small = of_all_ends(truth);
  const std::string line = stacks_line(small.profile.ledger);
  std::uint64_t sum = 0;
  const std::regex number("[0-9][0-9,]*");
  std::vector<std::uint64_t> numbers;
  const std::string plain = std::regex_replace(line, std::regex("32-bit"), "bits");
  for (std::sregex_iterator each(plain.begin(), plain.end(), number), end; each != end; ++each) {
    numbers.push_back(std::stoull(std::regex_replace(each->str(), std::regex(","), "")));
  }
  // The numbers are all = complete + at entry code + incomplete, followed by the reasons.
  REQUIRE(numbers.size() == truth.size() + 2);
  CHECK(numbers[0] == small.profile.ledger.written);
  CHECK(numbers[0] == numbers[1] + numbers[2] + numbers[3]);
  for (std::size_t i = 4; i < numbers.size(); ++i) sum += numbers[i];
  CHECK(sum == numbers[3]);
  --small.profile.ledger.counters[stack_counter(LS_STACK_MISSING)];
  CHECK_FALSE(adds_up(small.profile.ledger));
  CHECK(stacks_line(Ledger{}).empty());
  CHECK(line.find("not known") == std::string::npos);
  small.profile.ledger.written += 7;
  CHECK(stacks_line(small.profile.ledger).find("; of 8 samples it is not known") !=
        std::string::npos);
}
