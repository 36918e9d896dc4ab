// Tests comparisons of two profiles: shares and amounts are computed by hand, and chance by a
// random generator.
#include "cli/answer/comparison.h"

#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "cli/format/common/frame_tree.h"
#include "cli/format/format.h"
#include "cli/text/escape.h"
#include "support/catch.h"
#include "unit/format/profile_maker.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;

namespace {

Profile shop(std::uint64_t acme, std::uint64_t globex, std::uint64_t none,
             unsigned unreadable = 0) {
  SmallProfile made;
  made.labelled({{"tenant", "acme"}}).count = acme;
  made.labelled({{"tenant", "globex"}}).count = globex;
  made.sample(made.shop_thread, kNoIndex, made.no_labels, LS_UNLABELLED).count = none;
  if (unreadable > 0) {
    made.sample(made.shop_thread, made.work_stack, made.no_labels, LS_UNREADABLE_NOT_RESIDENT)
        .count = unreadable;
  }
  return weighed(std::move(made.profile), 1'000'000);
}

Comparison compare(const Profile& a, const Profile& b, std::vector<std::string> keys = {}) {
  auto made = Comparison::make(a, b, std::move(keys));
  REQUIRE(made);
  return *std::move(made);
}

const ComparedRow& row_of(const ComparedTable& table, const std::string& name,
                          ComparedRow::Kind kind = ComparedRow::Kind::kValue) {
  for (const ComparedRow& row : table.rows) {
    if (row.name == name && row.kind == kind) return row;
  }
  FAIL("no row " << name);
  return table.rows.front();
}

// Samples of equal weight.
ComparedRow::Side part(std::uint64_t samples) {
  ComparedRow::Side side;
  side.samples = samples;
  side.weight_ns = samples * 1'000'000;
  side.squares = static_cast<double>(samples) * 1e12;
  return side;
}

double errors_of(std::uint64_t part_a, std::uint64_t whole_a, std::uint64_t part_b,
                 std::uint64_t whole_b) {
  return standard_errors(part(part_a), part(whole_a), part(part_b), part(whole_b));
}

// Waits of two functions, as many of each, and how long one of each is.
Profile two_waits(std::uint64_t count, std::uint64_t work_ns, std::uint64_t rest_ns) {
  SmallProfile made;
  for (std::uint64_t i = 0; i < count; ++i) {
    made.sample(made.shop_thread, made.work_stack, made.no_labels, LS_UNLABELLED).weight_ns =
        work_ns;
    made.sample(made.shop_thread, kNoIndex, made.no_labels, LS_UNLABELLED).weight_ns = rest_ns;
  }
  return made.profile;
}

constexpr const std::string kNames[2] = {"a.jsonl", "b.jsonl"};

std::string text_of(const Comparison& comparison) {
  std::ostringstream out;
  SummaryStyle style;
  style.width = 0;
  REQUIRE(render_comparison(comparison, kNames, style, out));
  return out.str();
}

}  // namespace

TEST_CASE("comparison: shares are of each recording's whole, the largest difference first") {
  const Comparison made = compare(shop(600, 300, 100), shop(400, 1200, 300, 100));
  CHECK(made.a.samples == 1000);
  CHECK(made.b.weight_ns == 2000 * 1'000'000ULL);
  REQUIRE(made.tables.size() == 3);
  const ComparedTable& tenants = made.tables[0];
  CHECK(tenants.key == "tenant");
  CHECK(tenants.rows[0].name == "acme");
  CHECK(tenants.rows[0].difference == Approx(0.2 - 0.6));
  CHECK(row_of(tenants, "globex").difference == Approx(0.6 - 0.3));
  CHECK(row_of(tenants, "globex").b.weight_ns == 1200 * 1'000'000ULL);
  CHECK(row_of(tenants, "", ComparedRow::Kind::kWithout).difference == Approx(0.15 - 0.10));
  CHECK(row_of(tenants, "", ComparedRow::Kind::kUnreadable).a.samples == 0);
  for (std::size_t i = 1; i < tenants.rows.size(); ++i) {
    CHECK(std::abs(tenants.rows[i - 1].difference) >= std::abs(tenants.rows[i].difference));
  }
  double sum = 0;
  for (const ComparedRow& row : tenants.rows) sum += row.difference;
  CHECK(sum == Approx(0).margin(1e-9));
}

TEST_CASE("comparison: by function alone, and by function and what it calls") {
  const Comparison made = compare(shop(600, 300, 100), shop(600, 300, 1100));
  const ComparedTable& alone = made.tables[1];
  const ComparedTable& below = made.tables[2];
  CHECK(row_of(alone, "work").a.share == Approx(0.9));
  CHECK(row_of(alone, "work").b.share == Approx(0.45));
  CHECK(row_of(alone, "[no stack]").b.share == Approx(0.55));
  CHECK(row_of(below, "main").b.share == Approx(0.45));
  CHECK(row_of(below, "main").difference == Approx(-0.45));
}

TEST_CASE("comparison: of CPU time, errors have the chance in that the period is drawn") {
  const auto errors = [](bool has_accounts) {
    Profile a = shop(3000, 3000, 4000);
    Profile b = shop(3300, 3000, 4000);
    for (Profile* profile : {&a, &b}) {
      for (Index i = 0; i < profile->threads.size(); ++i)
        profile->threads[i].account = has_accounts ? i : kNoIndex;
    }
    const Comparison made = compare(a, b);
    std::vector<double> all{row_of(made.tables[0], "acme").errors};
    for (const std::size_t by_function : {1, 2})
      all.push_back(row_of(made.tables[by_function], "work").errors);
    return all;
  };
  const std::vector<double> with_accounts = errors(true);
  const std::vector<double> equal_times = errors(false);
  for (std::size_t i = 0; i < equal_times.size(); ++i)
    CHECK(with_accounts[i] * std::sqrt(std::log(3.0)) == Approx(equal_times[i]).epsilon(0.001));
}

TEST_CASE("comparison: of what is not sampled no difference is called chance") {
  Profile a = shop(1, 300, 100);
  Profile b = shop(2, 300, 100);
  CHECK(text_of(compare(a, b)).find('~') != std::string::npos);
  for (Profile* profile : {&a, &b}) {
    profile->values = {*parse_value_type("inuse_space/bytes")};
    profile->counted = "inuse_objects";
  }
  const Comparison made = compare(a, b);
  CHECK_FALSE(made.has_chance);
  CHECK_FALSE(row_of(made.tables[0], "acme").is_noise());
  const std::string text = text_of(made);
  CHECK(text.find('~') == std::string::npos);
  CHECK(text.find("these are inuse_objects, not samples") != std::string::npos);
  CHECK(text.find("402 inuse_objects") != std::string::npos);
  std::ostringstream json;
  REQUIRE(render_comparison_json(made, kNames, json));
  CHECK(json.str().find("noise") == std::string::npos);
  CHECK(json.str().find("standard_errors") == std::string::npos);
  // Profiles with different counts are not compared.
  b.counted = "alloc_objects";
  CHECK_FALSE(Comparison::make(a, b, {}));
}

TEST_CASE("comparison: no line is longer than the terminal, and a long key widens its own alone") {
  SmallProfile made;
  made.labelled({{"a key of a length that nobody would choose, and somebody did: x.y.z.a.b.c", "v"},
                 {"tenant", "acme"}});
  const Profile profile = weighed(std::move(made.profile), 1'000'000);
  const Comparison comparison = compare(profile, profile);
  const std::string names[2] = {"a recording with a long name, of yesterday.jsonl", "b.jsonl"};
  for (const std::size_t width : {60U, 80U, 120U}) {
    std::ostringstream out;
    SummaryStyle style;
    style.width = width;
    REQUIRE(render_comparison(comparison, names, style, out));
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(count_columns(line) <= width);
    }
  }
  std::istringstream lines(text_of(comparison));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("a key of")) continue;
    INFO(line);
    CHECK(count_columns(line) <= 48 + 59);
  }
}

TEST_CASE("comparison: a function that calls itself counts once") {
  SmallProfile made;
  const Index again = made.location(made.main_module, 0x401100, {"work"});
  const Index twice = made.stack({made.profile.stacks[made.work_stack].frames[0], again});
  made.sample(made.shop_thread, twice, made.no_labels, LS_UNLABELLED).count = 10;
  const Profile profile = weighed(std::move(made.profile), 1'000'000);
  CHECK(row_of(compare(profile, profile).tables[1], "work").a.share == Approx(1));
}

TEST_CASE("comparison: equal recordings differ in nothing, and few samples prove nothing") {
  const Comparison same = compare(shop(600, 300, 100), shop(600, 300, 100));
  for (const ComparedTable& table : same.tables) {
    for (const ComparedRow& row : table.rows) CHECK(row.is_noise());
  }
  CHECK(errors_of(0, 100, 4, 100) < kSignificant);  // one of eight is so by chance
  CHECK(errors_of(0, 100, 7, 100) > kSignificant);
  CHECK(errors_of(100, 1000, 200, 1000) > 5);
  CHECK(errors_of(200, 1000, 100, 1000) < -5);
  CHECK(errors_of(1000, 1000, 1000, 1000) == Approx(0));
  CHECK(errors_of(0, 0, 5, 10) == Approx(0));
}

TEST_CASE("comparison: of what does not differ, one of twenty at most looks as if it did") {
  std::mt19937 dice(4242);  // fixed, so that the result is always the same
  for (const double share : {0.002, 0.02, 0.3, 0.9}) {
    for (const int samples : {50, 1000}) {
      INFO(share << " of " << samples);
      std::binomial_distribution<std::uint64_t> a(samples, share);
      std::binomial_distribution<std::uint64_t> b(3 * samples, share);
      int alarms = 0;
      constexpr int kTrials = 4000;
      for (int i = 0; i < kTrials; ++i) {
        const auto all = static_cast<std::uint64_t>(samples);
        alarms += std::abs(errors_of(a(dice), all, b(dice), 3 * all)) >= kSignificant ? 1 : 0;
      }
      CHECK(alarms <= kTrials * 55 / 1000);
    }
  }
}

TEST_CASE("comparison: what waits longer differs, though as many waits were sampled") {
  const Comparison made =
      compare(two_waits(50, 20'000'000, 20'000'000), two_waits(50, 20'000'000, 60'000'000));
  const ComparedRow& row = row_of(made.tables.at(0), std::string(kNoStack));
  CHECK(row.difference == Approx(0.25));
  CHECK_FALSE(row.is_noise());
  CHECK(row.errors > 0);
}

TEST_CASE("comparison: equal shares do not differ, however many samples they have") {
  SmallProfile one;
  one.sample(one.shop_thread, one.work_stack, one.no_labels, LS_UNLABELLED).weight_ns =
      1'000'000'000;
  for (int i = 0; i < 100; ++i) {
    one.sample(one.shop_thread, kNoIndex, one.no_labels, LS_UNLABELLED).weight_ns = 10'000'000;
  }
  const Comparison made = compare(one.profile, two_waits(50, 20'000'000, 20'000'000));
  for (const ComparedRow& row : made.tables.at(0).rows) {
    INFO(row.name);
    CHECK(row.is_noise());
    CHECK(row.errors == Approx(0).margin(1e-9));
  }
}

TEST_CASE("comparison: keys with many values are left out unless they are asked for") {
  SmallProfile made;
  for (int i = 0; i < 150; ++i) {
    made.labelled({{"request", std::to_string(i)}, {"tenant", "acme"}});
  }
  const Profile profile = weighed(std::move(made.profile), 1'000'000);
  const Comparison unasked = compare(profile, profile);
  CHECK(unasked.tables.size() == 3);
  CHECK(unasked.left_out == std::vector<std::string>{"request"});
  CHECK(text_of(unasked).find("not compared, for its many values: request") != std::string::npos);
  CHECK(compare(profile, profile, {"request"}).tables[0].rows.size() == 150);
}

TEST_CASE("comparison: the table says what is noise, and no label byte reaches a terminal") {
  SmallProfile made;
  made.labelled({{"tenant", "\x1b[2J"}}).count = 10;
  const Profile odd = weighed(std::move(made.profile), 1'000'000);
  const std::string text = text_of(compare(odd, odd));
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('~') == std::string::npos);  // no difference at all
  const std::string few = text_of(compare(shop(6, 3, 1), shop(6, 2, 2)));
  CHECK(few.find("-10.0 ~") != std::string::npos);
  CHECK(few.find("~ may be chance") != std::string::npos);
  const std::string significant = text_of(compare(shop(600, 300, 100), shop(100, 300, 600)));
  CHECK(significant.find("-50.0  ") != std::string::npos);
}

TEST_CASE("comparison: JSON has every row with its numbers") {
  std::ostringstream out;
  REQUIRE(
      render_comparison_json(compare(shop(600, 300, 100), shop(400, 1200, 300, 100)), kNames, out));
  std::istringstream lines(out.str());
  std::string line;
  REQUIRE(std::getline(lines, line));
  const auto json = nlohmann::json::parse(line);
  CHECK(json["by"] == "label");
  CHECK(json["key"] == "tenant");
  CHECK(json["a"]["name"] == "a.jsonl");
  CHECK(json["b"]["samples"] == 2000);
  CHECK(json["rows"].size() == 4);
  CHECK(json["rows"][0]["value"] == "acme");
  CHECK(json["rows"][0]["noise"] == false);
  CHECK(json["rows"][0]["a"]["share"] == Approx(0.6));
}

TEST_CASE("comparison: what is counted differently is not compared") {
  Profile other = shop(1, 1, 1);
  other.values = {{"inuse_space", "bytes"}};
  const auto refused = Comparison::make(shop(1, 1, 1), other, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().context ==
        "it counts inuse_space/bytes, and the one before cpu time; give recordings that count the "
        "same");
}

TEST_CASE("comparison: both sides become one profile with a label that no other has") {
  Profile a = shop(600, 300, 100);
  Profile b = shop(1, 2, 3, 4);
  a.label_sets.push_back({{"recording", "mine", 0}});
  b.start_unix_ns += 1'000'000'000'000;
  b.rows[0].time_ns = b.start_monotonic_ns + 5;
  const auto key = merge_sides(a, b);
  REQUIRE(key);
  CHECK(*key == "labelscope.recording");
  const Comparison made = compare(a, a, {*key});
  CHECK(row_of(made.tables[0], "A").a.samples == 1000);
  CHECK(row_of(made.tables[0], "B").a.samples == 10);
  CHECK(made.tables[0].rows.size() == 2);
  // Times count from the start of each recording.
  CHECK(a.duration_ns == b.duration_ns);
  CHECK(a.rows[3].time_ns == a.start_monotonic_ns + 5);
}
