#include "cli/answer/summary.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/text/escape.h"
#include "cli/text/shares.h"
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
  REQUIRE(render_summary(weighed(profile, profile.period_ns), keys, style, out).has_value());
  return lines_of(out.str());
}

std::vector<std::string> label_keys(const Profile& profile) {
  std::ostringstream out;
  REQUIRE(render_label_keys(weighed(profile, profile.period_ns), {}, out).has_value());
  return lines_of(out.str());
}

// Returns the words of a line without its bar.
std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> found;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) {
    if (word[0] != '#') found.push_back(word);
  }
  return found;
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
  CHECK(words(lines[1]) == Words{"red", "50.0%", "+-11.7", "100", "ms", "10"});
  CHECK(words(lines[2]) == Words{"blue", "25.0%", "+-10.1", "50.0", "ms", "5"});
  CHECK(words(lines[3]) == Words{"(unset)", "15.0%", "+-8.4", "30.0", "ms", "3"});
  CHECK(words(lines[4]) == Words{"(unreadable)", "10.0%", "+-7.0", "20.0", "ms", "2"});
}

TEST_CASE("summary: begins with the services that processes say that they are") {
  SmallProfile small;
  small.labelled({{"tenant", "blue"}});
  small.profile.processes[0].attributes = {
      {"host.name", "left out"}, {"service.name", "shop\x1b[31m"}, {"service.version", "1.2"}};
  const auto lines = summary(small.profile, {"tenant"});
  REQUIRE(lines.size() > 2);
  CHECK(lines[0] == "process 100: service.name=shop\\x1b[31m  service.version=1.2");
  CHECK(lines[1].empty());
}

TEST_CASE("summary: equal counts have equal shares, whatever the others are") {
  for (unsigned values : {3U, 7U, 37U, 999U}) {
    SmallProfile small;
    for (unsigned i = 0; i < values; ++i) small.labelled({{"k", std::to_string(i)}}).count = 5;
    small.labelled({}).count = 3;
    const auto lines = summary(small.profile, {"k"}, {.max_values = values});
    REQUIRE(lines.size() == values + 2);
    std::set<std::string> shares;
    for (unsigned i = 1; i <= values; ++i) shares.insert(words(lines[i]).at(1));
    CHECK(shares.size() == 1);
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

TEST_CASE("summary: what is not sampled has no error by chance, and its own name") {
  SmallProfile small;
  small.labelled({{"k", "v"}});
  Profile profile = weighed(std::move(small.profile), 4096);
  CHECK(summary(profile, {"k"})[1].find("+-") != std::string::npos);
  profile.values = {*parse_value_type("inuse_space/bytes")};
  profile.counted = "inuse_objects";
  const auto lines = summary(profile, {"k"});
  CHECK(lines[0].find("inuse_objects") != std::string::npos);
  for (const std::string& line : lines) {
    CHECK(line.find("+-") == std::string::npos);
    CHECK(line.find("samples") == std::string::npos);
  }
  std::ostringstream json;
  REQUIRE(render_summary_json(profile, {"k"}, json));
  CHECK(json.str().find("share_error") == std::string::npos);
}

TEST_CASE("summary: lines keep to the width, long values are cut, bars stand for the counts") {
  SmallProfile small;
  small.labelled({{"k", std::string(300, 'x')}}).count = 100;
  small.labelled({{"k", "gr\xc3\xbc\xc3\x9f"}}).count = 50;
  for (bool unicode : {false, true}) {
    const auto lines = summary(small.profile, {"k"}, {.unicode = unicode, .width = 72});
    REQUIRE(lines.size() == 3);
    for (const std::string& line : lines) CHECK(count_columns(line) <= 72);
    CHECK(lines[1].find(unicode ? "x\xe2\x80\xa6 " : "x... ") != std::string::npos);
    // Numbers are aligned although the second value has fewer characters than bytes.
    CHECK(count_columns(lines[1].substr(0, lines[1].find('%'))) ==
          count_columns(lines[2].substr(0, lines[2].find('%'))));
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
  CHECK(words(lines[0]) == Words{"often", "75.0%", "of", "the", "time,", "2", "values"});
  CHECK(words(lines[1]) == Words{"rare", "25.0%", "of", "the", "time,", "1", "value"});
}

TEST_CASE("label keys: a sample with a key from two publishers counts once, both values do") {
  SmallProfile small;
  small.sample(small.shop_thread, small.work_stack,
               small.label_set(LabelSet{{"k", "first", 0}, {"k", "second", 1}}), LS_LABELLED);
  small.labelled({}).count = 3;
  const auto lines = label_keys(small.profile);
  REQUIRE(lines.size() == 1);
  using Words = std::vector<std::string>;
  CHECK(words(lines[0]) == Words{"k", "25.0%", "of", "the", "time,", "2", "values"});
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

TEST_CASE("shares: each is rounded to the nearest, but all and nothing are exact") {
  CHECK(share_of_1000(1, 3) == 333);
  CHECK(share_of_1000(2, 3) == 667);
  CHECK(share_of_1000(1, 2000) == 1);
  CHECK(share_of_1000(1, 1000000) == 1);
  CHECK(share_of_1000(999999, 1000000) == 999);
  CHECK(share_of_1000(5, 5) == 1000);
  CHECK(share_of_1000(0, 5) == 0);
  CHECK(share_of_1000(0, 0) == 0);
  CHECK(share_of_1000(UINT64_MAX / 2 + 1, UINT64_MAX) == 500);
  CHECK(shares_of_1000({1, 1, 1}) == std::vector<std::uint64_t>{333, 333, 333});
  CHECK(shares_of_1000({0, 0}) == std::vector<std::uint64_t>{0, 0});
  CHECK(shares_of_1000({}).empty());
  CHECK(shares_of_1000({UINT64_MAX, UINT64_MAX}) == std::vector<std::uint64_t>{500, 500});
  CHECK(percent_text(999) == "99.9%");
}

TEST_CASE("shares: times have three digits and a unit that fits") {
  CHECK(time_text(1) == "1 ns");
  CHECK(time_text(999) == "999 ns");
  CHECK(time_text(1000) == "1.00 us");
  CHECK(time_text(9'999) == "10.0 us");
  CHECK(time_text(50'000'000) == "50.0 ms");
  CHECK(time_text(999'600'000) == "1.00 s");
  CHECK(time_text(123'000'000'000) == "123 s");
  CHECK(time_text(123'456'000'000'000) == "123456 s");
  CHECK(time_text(0) == "0 ns");
}

// By so much the variance of shares is larger than that of independent samples.
constexpr double kDrawnPeriods = 1.0986122886681098;

TEST_CASE("shares: the error of a share is a little more than that of as many equal samples") {
  ShareError errors;
  errors.add_whole(0, 1000, 400);
  CHECK(std::abs(errors.of({{0, 200}}) - std::sqrt(kDrawnPeriods * 0.2 * 0.8 / 400)) < 1e-9);
  CHECK(errors.of({{0, 1000}}) == 0);
  CHECK(errors.of({}) == 0);
}

TEST_CASE("shares: what is exact between accounts is not uncertain") {
  ShareError errors;
  errors.add_whole(0, 3000, 300);
  errors.add_whole(1, 1000, 100);
  // The row has one whole account, so its share of 75 % is exact.
  CHECK(errors.of({{0, 3000}}) == 0);
  // The row has half of each account. Each adds its uncertainty, weighted by its part of the whole.
  const double half = std::sqrt(0.75 * 0.75 * 0.25 / 300 + 0.25 * 0.25 * 0.25 / 100);
  CHECK(std::abs(errors.of({{0, 1500}, {1, 500}}) - std::sqrt(kDrawnPeriods) * half) < 1e-9);
}

TEST_CASE("shares: one sample of a total does not show that all of it is like the sample") {
  ShareError errors;
  std::map<std::uint32_t, std::uint64_t> half;
  for (std::uint32_t total = 0; total < 1000; ++total) {
    errors.add_whole(total, 1'000'000, 1, true);
    if (total % 2 == 0) half[total] = 1'000'000;
  }
  CHECK(errors.of(half) == 0);  // by label each total is of one row
  CHECK(std::abs(errors.of(half, true) - std::sqrt(0.5 * 0.5 / 1000)) < 1e-4);
}

TEST_CASE("shares: a long wait beside short ones is as uncertain as one sample") {
  ShareError errors;
  errors.add_whole(0, 9'000, 1, true);
  errors.add_whole(0, 1'000, 1000, true);
  CHECK(errors.of({{0, 9'000}}) > std::sqrt(0.9 * 0.1 / 2));
}

TEST_CASE("summary: of a part of a recording of waits, shares by label are uncertain") {
  SmallProfile small;
  small.profile.values = {value_of_kind(LS_WAITING)};
  for (Index i = 0; i < small.profile.threads.size(); ++i) small.profile.threads[i].account = i;
  const Index other = static_cast<Index>(small.profile.threads.size());
  small.profile.threads.push_back({0, Tid{2}, "other", other});
  for (int i = 0; i < 8; ++i) {
    SampleRow& row = small.labelled({{"k", i % 2 == 0 ? "even" : "odd"}});
    row.weight_ns = 10'000'000;
    if (i % 2 == 0) row.thread = other;  // each thread has one label
  }
  std::ostringstream out;
  REQUIRE(render_summary_json(small.profile, {"k"}, out));
  const auto json = nlohmann::json::parse(out.str());
  CHECK(std::abs(json["values"][0]["share_error"].get<double>() - std::sqrt(0.25 / 8)) < 1e-6);
}

TEST_CASE("summary: waits for work are the last row, and no part of shares") {
  SmallProfile small;
  small.profile.values = {value_of_kind(LS_WAITING)};
  small.labelled({{"k", "a"}, {"wait", "read"}}).weight_ns = 30'000'000;
  small.labelled({{"k", "b"}, {"wait", "read"}}).weight_ns = 10'000'000;
  SampleRow& idle = small.labelled({{"wait", "idle"}});
  idle.outcome = LS_UNLABELLED;
  idle.weight_ns = 960'000'000;
  const auto lines = summary(small.profile, {"k"});
  REQUIRE(lines.size() == 4);
  using Words = std::vector<std::string>;
  const auto of_a = words(lines[1]);
  CHECK(of_a[0] == "a");
  CHECK(of_a[1] == "75.0%");
  CHECK(words(lines[2])[1] == "25.0%");
  CHECK(words(lines[3]) == Words{"(idle)", "-", "960", "ms", "1"});
  const auto by_reason = summary(small.profile, {"wait"});
  REQUIRE(by_reason.size() == 3);
  CHECK(words(by_reason[1])[1] == "100.0%");
  CHECK(words(by_reason[2])[0] == "(idle)");
  // Programs see the same.
  std::ostringstream out;
  REQUIRE(render_summary_json(small.profile, {"k", "wait"}, out));
  std::istringstream json_lines(out.str());
  for (std::string line; std::getline(json_lines, line);) {
    const auto json = nlohmann::json::parse(line);
    CHECK(json["samples"] == 2);
    CHECK(json["time_ns"] == 40'000'000);
    CHECK(json["without"]["time_ns"] == 0);
    std::uint64_t time_ns = 0;
    for (const auto& value : json["values"]) time_ns += value["time_ns"].get<std::uint64_t>();
    CHECK(time_ns == 40'000'000);
    CHECK(json["idle"] == nlohmann::json{{"samples", 1}, {"time_ns", 960'000'000}});
  }
}

TEST_CASE("summary: a wait that has not ended is as long as it is") {
  SmallProfile small;
  small.profile.values = {value_of_kind(LS_WAITING)};
  for (const char* value : {"a", "b"}) {
    SampleRow& row = small.labelled({{"k", value}});
    row.weight_ns = 3'000'000'000;
    row.flags = LS_STILL_WAITING;
  }
  const auto lines = summary(small.profile, {"k", "thread_name"});
  REQUIRE(lines.size() >= 3);
  using Words = std::vector<std::string>;
  CHECK(words(lines[1]) == Words{"a", "50.0%", "+-0.0", "3.00", "s", "1"});
}

TEST_CASE("summary: shares are of time, not of samples") {
  SmallProfile small;
  small.labelled({{"k", "long"}}).weight_ns = 90'000'000;
  cli::SampleRow& many = small.labelled({{"k", "many"}});
  many.count = 9;
  many.weight_ns = 10'000'000;
  const auto lines = summary(small.profile, {"k"});
  REQUIRE(lines.size() == 3);
  using Words = std::vector<std::string>;
  CHECK(words(lines[1]) == Words{"long", "90.0%", "+-9.9", "90.0", "ms", "1"});
  CHECK(words(lines[2]) == Words{"many", "10.0%", "+-9.9", "10.0", "ms", "9"});
}

TEST_CASE("summary: numbers stand below each other whatever the values' width on a terminal") {
  SmallProfile small;
  small.labelled({{"k", "\xe6\x9d\xb1\xe4\xba\xac"}}).count = 5;  // two characters, four columns
  small.labelled({{"k", "\xf0\x9f\x9a\x80"}}).count = 4;          // one, two columns
  small.labelled({{"k", "plain"}}).count = 3;
  for (const std::string& line : summary(small.profile, {"k"})) {
    const std::size_t end = line.find(line.starts_with("k ") ? "share" : "%");
    CHECK(count_columns(line.substr(0, end)) + (line.starts_with("k ") ? 5 : 1) == 23);
  }
}

TEST_CASE("summary: without a terminal no value is cut, and long ones move no number") {
  SmallProfile small;
  const std::string value(300, 'x');
  small.labelled({{value, value}, {"k", value}}).count = 2;
  small.labelled({{value, "short"}, {"k", "short"}});
  const std::string indent(48, ' ');
  const auto lines = summary(small.profile, {value}, {.width = 0});
  CHECK(lines.at(0) == value);
  CHECK(lines.at(1).starts_with(indent + "  share"));
  CHECK(lines.at(2) == value);
  CHECK(lines.at(3).starts_with(indent + "  "));
  const auto rows = summary(small.profile, {"k"}, {.width = 0});
  const std::size_t share = rows.at(0).find("share") + 4;
  CHECK(rows.at(1) == value);
  CHECK(rows.at(2).at(share) == '%');
  CHECK(rows.at(3).starts_with("short "));
  CHECK(rows.at(3).at(share) == '%');
  std::ostringstream keys;
  REQUIRE(render_label_keys(small.profile, {.width = 0}, keys).has_value());
  CHECK(keys.str().find(value + '\n' + indent) != std::string::npos);
}

TEST_CASE("summary: below each value stand the functions that ran longest themselves") {
  SmallProfile small;
  const auto leaf = [&](std::vector<std::string> names) {
    return small.stack({small.location(small.main_module, 0x403000, std::move(names)), 1});
  };
  const Index hot = leaf({"inlined", "hot"});
  const Index bare = leaf({});
  small.labelled({{"tenant", "red"}}).count = 6;
  small.sample(small.shop_thread, hot, small.labels({{"tenant", "red"}}), LS_LABELLED).count = 9;
  small.sample(small.shop_thread, bare, small.labels({{"tenant", "red"}}), LS_LABELLED).count = 3;
  small.sample(small.shop_thread, cli::kNoIndex, small.no_labels, LS_UNLABELLED).count = 2;
  const auto lines = summary(small.profile, {"tenant"}, {.functions = 2});
  REQUIRE(lines.size() == 6);
  using Words = std::vector<std::string>;
  CHECK(words(lines[1]).front() == "red");
  CHECK(lines[2].starts_with("    inlined "));
  CHECK(words(lines[2]) == Words{"inlined", "45.0%", "90.0", "ms", "9"});
  CHECK(words(lines[3]) == Words{"work", "30.0%", "60.0", "ms", "6"});
  CHECK(lines[4].starts_with("(unset) "));
  CHECK(lines[5].starts_with("    [no stack] "));

  std::ostringstream out;
  REQUIRE(render_summary_json(weighed(small.profile, small.profile.period_ns), {"tenant"}, out)
              .has_value());
  CHECK(out.str().find(R"("functions":[{"name":"inlined","samples":9,"time_ns":90000000})") !=
        std::string::npos);
  CHECK(out.str().find(R"({"name":"[shop+0x403000]","samples":3,"time_ns":30000000})") !=
        std::string::npos);
  // The order of docs/schema/summary-json.md: first all samples, then those of a value, with the
  // error of 18 of 20.
  CHECK(out.str().starts_with(
      R"({"key":"tenant","samples":20,"time_ns":200000000,"values":[)"
      R"({"value":"red","samples":18,"time_ns":180000000,"share_error":0.070)"));
}

TEST_CASE(
    "summary: functions are named without what makes their names long, if they stay different") {
  SmallProfile small;
  const auto leaf = [&](const char* name) {
    return small.stack({small.location(small.main_module, 0x403000, {name})});
  };
  const std::vector<std::pair<const char*, const char*>> names{
      {"shop::(anonymous namespace)::pay(std::map<int, int> const&)", "shop::pay"},
      {"vec<int>::push(int&&)", "vec<int>::push(int&&)"},
      {"vec<char>::push(char&&)", "vec<char>::push(char&&)"},
      {"operator<(A const&, B const&)", "operator<"},
      {"<impl as Trait>::run", "<impl as Trait>::run"},
      {"net/http.(*conn).serve", "net/http.(*conn).serve"},
      {"java.util.ArrayList.<init>", "java.util.ArrayList.<init>"},
      {"A::operator()(int) const", "A::operator()(int) const"},
      {"decltype(auto) f<int>(int)", "decltype(auto) f(int)"},
      {"(unknown)", "(unknown)"}};
  std::uint64_t count = 20;
  for (const auto& [name, shown] : names) {
    small.sample(small.shop_thread, leaf(name), small.labels({{"k", "v"}}), LS_LABELLED).count =
        count--;
  }
  const auto lines = summary(small.profile, {"k"}, {.functions = 10});
  REQUIRE(lines.size() == 2 + names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    INFO(lines[2 + i]);
    CHECK(lines[2 + i].starts_with(std::string("    ") + names[i].second + " "));
  }
}

TEST_CASE("summary: a value or a function cannot pass for the other on a terminal") {
  SmallProfile small;
  small.sample(small.shop_thread,
               small.stack({small.location(small.main_module, 0x403000, {"f\x1b[31m"})}),
               small.labels({{"k", "    work"}}), LS_LABELLED);
  const auto lines = summary(small.profile, {"k"}, {.functions = 1});
  REQUIRE(lines.size() == 3);
  CHECK(lines[1].starts_with("\"    work\" "));
  CHECK(lines[2].starts_with("    f\\x1b[31m "));
}

TEST_CASE("label keys: without labels the functions of all samples are reported") {
  SmallProfile small;
  small.labelled({}).count = 4;
  std::ostringstream out;
  REQUIRE(render_label_keys(weighed(small.profile, small.profile.period_ns), {.functions = 1}, out)
              .has_value());
  const auto lines = lines_of(out.str());
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == "no labels in 4 samples");
  CHECK(lines[3].starts_with("    work "));
}
