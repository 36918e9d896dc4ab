#include "cli/format/summary.h"

#include <cmath>
#include <sstream>

#include "cli/format/escape.h"
#include "cli/format/shares.h"
#include "support/catch.h"
#include "unit/format/profile_maker.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> summary(const Profile& profile, const std::vector<std::string>& keys,
                                 const SummaryStyle& style = {}) {
  std::ostringstream out;
  REQUIRE(render_summary(profile, keys, style, out).has_value());
  return lines_of(out.str());
}

std::vector<std::string> label_keys(const Profile& profile) {
  std::ostringstream out;
  REQUIRE(render_label_keys(profile, {}, out).has_value());
  return lines_of(out.str());
}

// The words of a line without its bar.
std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> found;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) {
    if (word[0] != '#') found.push_back(word);
  }
  return found;
}

// Sum of the shares in tenths of a per cent, as printed.
long printed_share(const std::vector<std::string>& lines) {
  long sum = 0;
  for (const std::string& line : lines) {
    const std::size_t percent = line.find('%');
    if (percent == std::string::npos) continue;
    const std::size_t start = line.rfind(' ', percent) + 1;
    sum += std::lround(std::stod(line.substr(start, percent - start)) * 10);
  }
  return sum;
}

}  // namespace

TEST_CASE("summary: a row for each value, then those without the label and the unreadable ones") {
  SmallProfile small;
  small.labelled({{"tenant", "blue"}}).count = 5;
  small.labelled({{"tenant", "red"}}).count = 10;
  small.labelled({{"route", "/"}}).count = 3;
  small.sample(small.shop_thread, small.work_stack, small.no_labels, LS_UNREADABLE_MALFORMED)
      .count = 2;
  const auto lines = summary(small.profile, {"tenant"});
  REQUIRE(lines.size() == 5);
  using Words = std::vector<std::string>;
  CHECK(words(lines[0]) == Words{"tenant", "share", "time", "samples"});
  CHECK(words(lines[1]) == Words{"red", "50.0%", "100", "ms", "10"});
  CHECK(words(lines[2]) == Words{"blue", "25.0%", "50.0", "ms", "5"});
  CHECK(words(lines[3]) == Words{"(no", "such", "label)", "15.0%", "30.0", "ms", "3"});
  CHECK(words(lines[4]) == Words{"(unreadable)", "10.0%", "20.0", "ms", "2"});
}

TEST_CASE("summary: the shares as printed add up to 100 %, whatever the counts") {
  for (unsigned values : {1U, 3U, 7U, 30U, 999U}) {
    SmallProfile small;
    for (unsigned i = 0; i < values; ++i) {
      small.labelled({{"k", std::to_string(i)}}).count = 1 + i % 3;
    }
    small.labelled({});
    small.sample(small.shop_thread, small.work_stack, small.no_labels, LS_UNREADABLE_VANISHED);
    CHECK(printed_share(summary(small.profile, {"k"}, {.max_values = 10})) == 1000);
    CHECK(printed_share(summary(small.profile, {"k"}, {.max_values = 5000})) == 1000);
  }
}

TEST_CASE("summary: values beyond the limit are one row") {
  SmallProfile small;
  for (unsigned i = 0; i < 10; ++i) small.labelled({{"k", std::to_string(i)}}).count = 100 - i;
  const auto lines = summary(small.profile, {"k"}, {.max_values = 4});
  REQUIRE(lines.size() == 6);
  CHECK(lines[4].starts_with("3 "));
  CHECK(lines[5].starts_with("(6 other values) "));
  CHECK(words(lines[5]).back() == std::to_string(96 + 95 + 94 + 93 + 92 + 91));
}

TEST_CASE("summary: a sample with a key from two publishers counts once, under both values") {
  SmallProfile small;
  small.profile.processes[0].publishers.push_back("/opt/shop/plugins/other.so");
  small.sample(small.shop_thread, small.work_stack,
               small.label_set(LabelSet{{"k", "first", 0}, {"k", "", 1}}), LS_LABELLED);
  small.sample(small.shop_thread, small.work_stack,
               small.label_set(LabelSet{{"k", "equal", 0}, {"k", "equal", 1}}), LS_LABELLED);
  const auto lines = summary(small.profile, {"k"});
  REQUIRE(lines.size() == 3);
  CHECK(lines[1].starts_with("equal "));
  CHECK(lines[2].starts_with("first@libshop.so|<empty>@other.so "));
}

TEST_CASE("summary: a value cannot pass for a row of ours or reach the terminal raw") {
  SmallProfile small;
  small.labelled({{"k\x1b", "(unreadable)"}}).count = 3;
  small.labelled({{"k\x1b", "\x1b[31m\xff"}}).count = 2;
  small.labelled({{"k\x1b", ""}}).count = 1;
  const auto lines = summary(small.profile, {"k\x1b"});
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].starts_with("k\\x1b "));
  CHECK(lines[1].starts_with("\"(unreadable)\" "));
  CHECK(lines[2].starts_with("\\x1b[31m\\xff "));
  CHECK(lines[3].starts_with("<empty> "));
  for (const std::string& line : label_keys(small.profile)) {
    CHECK(line.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("summary: lines keep to the width, long values are cut, bars stand for the counts") {
  SmallProfile small;
  small.labelled({{"k", std::string(300, 'x')}}).count = 100;
  small.labelled({{"k", "gr\xc3\xbc\xc3\x9f"}}).count = 50;
  for (bool unicode : {false, true}) {
    const auto lines = summary(small.profile, {"k"}, {.unicode = unicode, .width = 72});
    REQUIRE(lines.size() == 3);
    for (const std::string& line : lines) CHECK(count_characters(line) <= 72);
    CHECK(lines[1].find(unicode ? "x\xe2\x80\xa6 " : "x... ") != std::string::npos);
    // Numbers stand below each other although the second value has fewer characters than bytes.
    CHECK(count_characters(lines[1].substr(0, lines[1].find('%'))) ==
          count_characters(lines[2].substr(0, lines[2].find('%'))));
  }
  const auto lines = summary(small.profile, {"k"}, {.width = 72});
  const auto marks = [](const std::string& line) {
    return std::count(line.begin(), line.end(), '#');
  };
  CHECK(marks(lines[1]) > 4);
  CHECK(std::abs(marks(lines[1]) - 2 * marks(lines[2])) <= 1);
}

TEST_CASE("summary: a terminal of any width gets the numbers") {
  SmallProfile small;
  small.labelled({{"k", "value"}});
  for (std::size_t width : {0U, 1U, 20U, 40U, 500U}) {
    const auto lines = summary(small.profile, {"k"}, {.width = width});
    REQUIRE(lines.size() == 2);
    CHECK(lines[1].find("100.0%") != std::string::npos);
  }
}

TEST_CASE("summary: color is there when asked for and otherwise absent") {
  SmallProfile small;
  small.labelled({});
  CHECK(summary(small.profile, {"k"}, {.color = true})[0].find("\x1b[") == 0);
  for (const std::string& line : summary(small.profile, {"k"})) {
    CHECK(line.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("summary: no samples is said, not divided by") {
  CHECK(summary(Profile{}, {"k"}) == std::vector<std::string>{"no samples"});
  CHECK(label_keys(Profile{}) == std::vector<std::string>{"no labels in 0 samples"});
}

TEST_CASE("label keys: coverage and distinct values of each key, the most covering first") {
  SmallProfile small;
  small.labelled({{"rare", "x"}, {"often", "1"}});
  small.labelled({{"often", "2"}}).count = 2;
  small.labelled({});
  const auto lines = label_keys(small.profile);
  REQUIRE(lines.size() == 2);
  using Words = std::vector<std::string>;
  CHECK(words(lines[0]) == Words{"often", "75.0%", "of", "samples,", "2", "values"});
  CHECK(words(lines[1]) == Words{"rare", "25.0%", "of", "samples,", "1", "value"});
}

TEST_CASE(
    "label keys: a key with more than 10,000 values is warned about, one with 10,000 is not") {
  SmallProfile small;
  for (int i = 0; i <= 10000; ++i) {
    if (i == 10000) CHECK(label_keys(small.profile).size() == 1);
    small.labelled({{"request", std::to_string(i)}});
  }
  const auto lines = label_keys(small.profile);
  REQUIRE(lines.size() == 2);
  CHECK(lines[1].find("more than 10000 values") != std::string::npos);
}

TEST_CASE("shares: parts add up exactly and stay within one step of their true size") {
  const std::vector<std::uint64_t> counts{1, 1, 1, 7, 1000, 3, 0};
  const auto shares = shares_of_1000(counts);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sum += shares[i];
    CHECK(std::abs(static_cast<double>(shares[i]) - static_cast<double>(counts[i]) * 1000 / 1013) <
          1);
  }
  CHECK(sum == 1000);
  CHECK(shares.back() == 0);
  CHECK(shares_of_1000({0, 0}) == std::vector<std::uint64_t>{0, 0});
  CHECK(shares_of_1000({}).empty());
  CHECK(shares_of_1000({UINT64_MAX, UINT64_MAX}) == std::vector<std::uint64_t>{500, 500});
}

TEST_CASE("shares: 100 % coverage means every sample") {
  CHECK(percent_text(coverage_of_1000(999999, 1000000)) == "99.9%");
  CHECK(percent_text(coverage_of_1000(5, 5)) == "100.0%");
  CHECK(coverage_of_1000(0, 0) == 0);
}

TEST_CASE("shares: times have three digits and a unit that fits") {
  CHECK(time_text(1, 1) == "1 ns");
  CHECK(time_text(1, 999) == "999 ns");
  CHECK(time_text(1, 1000) == "1.00 us");
  CHECK(time_text(1, 9'999) == "10.0 us");
  CHECK(time_text(5, 10'000'000) == "50.0 ms");
  CHECK(time_text(1, 999'600'000) == "1.00 s");
  CHECK(time_text(123, 1'000'000'000) == "123 s");
  CHECK(time_text(123456, 1'000'000'000) == "123456 s");
  CHECK(time_text(0, 10) == "0 ns");
}
