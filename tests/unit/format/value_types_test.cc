// Tests a profile of several kinds of time in every format: no kind is lost, and none is taken for
// another. --mode wall records such a profile.
#include "cli/profile/value_types.h"

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <regex>
#include <sstream>

#include "cli/answer/comparison.h"
#include "cli/answer/selection.h"
#include "cli/answer/summary.h"
#include "cli/format/common/ledger_text.h"
#include "cli/format/common/row_labels.h"
#include "cli/format/common/rows.h"
#include "cli/format/format.h"
#include "cli/format/recording_reader.h"
#include "cli/profile/label_rules.h"
#include "cli/profile/merge.h"
#include "support/catch.h"
#include "support/paths.h"
#include "unit/format/profile_maker.h"
#include "unit/format/run_program.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;
using nlohmann::json;

namespace {

using Times = std::map<std::string, std::uint64_t>;  // nanoseconds by the name of their kind

const Times kTruth{{"cpu", 3000}, {"runnable", 500}, {"waiting", 70'000}};
constexpr std::uint64_t kAll = 73'500;

// Makes a profile of one stack, one thread and one label: the rows differ only in their kind.
Profile of_three_kinds() {
  SmallProfile small;
  small.profile.values.clear();
  for (const ls_sample_kind kind : {LS_ON_CPU, LS_RUNNABLE, LS_WAITING}) {
    small.profile.values.push_back(value_of_kind(kind));
    for (int i = 0; i < 2; ++i) {
      SampleRow& row = small.labelled({{"tenant", "42"}});
      row.value = static_cast<std::uint8_t>(small.profile.values.size() - 1);
      row.weight_ns = kTruth.at(small.profile.values.back().name) / 2;
    }
  }
  small.profile.ledger = ledger_of_rows(small.profile);
  return small.profile;
}

Times times_of(const Profile& profile) {
  Times times;
  for (const SampleRow& row : profile.rows)
    times[profile.values.at(row.value).name] += row.weight_ns;
  return times;
}

std::string rendered(Render* render, const Profile& profile, const RenderOptions& options = {}) {
  std::ostringstream out;
  REQUIRE(render(profile, options, out).has_value());
  return out.str();
}

Profile read_again(const std::string& bytes) {
  std::istringstream in(bytes);
  auto recording = read_recording(in);
  INFO((recording ? "" : recording.error().context));
  REQUIRE(recording);
  CHECK(recording->lost.empty());
  CHECK(recording->notes.empty());
  return std::move(recording->profile);
}

}  // namespace

TEST_CASE("value_types: as text, and back") {
  for (const KindOfSamples& kind : kKindsOfSamples) {
    const ValueType value = value_of_kind(kind.kind);
    CHECK(text_of(value) == kind.name);
    CHECK(parse_value_type(kind.name) == value);
    CHECK(kind_of_value(value) == &kind);
  }
  const ValueType bytes{"inuse_space", "bytes"};
  CHECK(text_of(bytes) == "inuse_space/bytes");
  CHECK(parse_value_type("inuse_space/bytes") == bytes);
  CHECK(kind_of_value(bytes) == nullptr);
  CHECK_FALSE(parse_value_type("of-no-kind"));
  CHECK_FALSE(parse_value_type(""));
}

TEST_CASE("value_types: recordings and pprof files keep each kind, and read it again") {
  const Profile profile = of_three_kinds();
  for (Render* render : {render_jsonl, render_pprof}) {
    const Profile again = read_again(rendered(render, profile));
    CHECK(again.values == profile.values);
    CHECK(times_of(again) == kTruth);
    std::uint64_t samples = 0;
    for (const SampleRow& row : again.rows) samples += row.count;
    CHECK(samples == 6);
    CHECK(again.ledger.time.attributed_ns == kAll);
  }
}

TEST_CASE("value_types: OTLP has a profile for each kind") {
  constexpr const char* kDecode =
      "import json, sys\n"
      "sys.path.insert(0, sys.argv[1])\n"
      "sys.dont_write_bytecode = True\n"
      "import otlp\n"
      "print(json.dumps(otlp.decode(sys.stdin.buffer.read()), default=bytes.hex))\n";
  const ProgramResult result =
      run_program({require_program("python3"), "-c", kDecode, paths::kFormatTests},
                  rendered(render_otlp, of_three_kinds()));
  INFO(result.err);
  REQUIRE(result.exit_status == 0);
  const json file = json::parse(result.out);
  Times times;
  for (const json& profile : file["resources"][0]["scopes"][0]["profiles"]) {
    const auto name = profile["sample_type"]["type"].get<std::size_t>();
    std::uint64_t& sum = times[file["dictionary"]["strings"].at(name)];
    for (const json& sample : profile["samples"]) sum += sample["values"][0].get<std::uint64_t>();
  }
  CHECK(times.extract("samples").mapped() == 6);
  CHECK(times == kTruth);
}

TEST_CASE("value_types: tables have a column for each kind behind their sum") {
  const std::string csv = rendered(render_csv, of_three_kinds());
  CHECK(csv.find("time_ns,cpu_ns,runnable_ns,waiting_ns,samples,function,") == 0);
  CHECK(csv.find("\n73500,3000,500,70000,6,work,") != std::string::npos);

  std::ostringstream summary;
  REQUIRE(render_summary(of_three_kinds(), {"tenant", "state"}, {}, summary).has_value());
  const std::string text = summary.str();
  INFO(text);
  CHECK(
      std::regex_search(text, std::regex("tenant +share +time +cpu +runnable +waiting +samples")));
  CHECK(std::regex_search(text, std::regex("42 +100.0% .* 73.5 us +3.00 us +500 ns +70.0 us +6")));
  CHECK(std::regex_search(text, std::regex("waiting +95.2% ")));

  std::ostringstream lines;
  REQUIRE(render_summary_json(of_three_kinds(), {"tenant"}, lines).has_value());
  const json value = json::parse(lines.str())["values"][0];
  CHECK(value["time_ns"] == kAll);
  CHECK(value["times_ns"] == json(kTruth));
}

TEST_CASE("value_types: what shows one number shows the sum, and takes it apart by the key state") {
  const Profile profile = of_three_kinds();
  CHECK(rendered(render_folded, profile) == "shop;main;work 73500\n");
  CHECK(rendered(render_folded, profile, {.group_by = {"state"}}) ==
        "state=cpu;shop;main;work 3000\n"
        "state=runnable;shop;main;work 500\n"
        "state=waiting;shop;main;work 70000\n");
  CHECK(rendered(render_svg, profile).find("73.5 us") != std::string::npos);
  CHECK(RowLabels(profile).own_value(profile.rows.back(), "state") == "waiting");
  const auto compared = Comparison::make(profile, profile, {"state"});
  REQUIRE(compared);
  CHECK(compared->a.weight_ns == kAll);
  CHECK(compared->tables.at(0).rows.size() == 3);
}

TEST_CASE("value_types: where there is one kind, there is no such key") {
  SmallProfile small;
  small.labelled({{"tenant", "42"}});
  const Profile profile = weighed(small.profile, 10);
  CHECK_FALSE(RowLabels(profile).own_value(profile.rows[0], "state"));
  CHECK(rendered(render_csv, profile).find("time_ns,samples,") == 0);
  const std::string recording = rendered(render_jsonl, profile);
  CHECK(recording.find("\"values\"") == std::string::npos);
  CHECK_FALSE(std::regex_search(recording, std::regex("\"value\":[0-9]")));
}

TEST_CASE(
    "value_types: viewers of threads have a track for each kind, or the time on a processor") {
  const json speedscope = json::parse(rendered(render_speedscope, of_three_kinds()));
  Times times;
  for (const json& track : speedscope["profiles"]) {
    const std::string name = track["name"];
    const std::string kind = name.substr(name.rfind(", ") + 2);
    times[kind.substr(0, kind.find(' '))] += track["endValue"].get<std::uint64_t>();
  }
  CHECK(times == kTruth);

  const json firefox = json::parse(rendered(render_firefox, of_three_kinds()));
  const auto sum = [&](const char* column) {
    double all = 0;
    for (const json& track : firefox["threads"]) {
      for (const json& weight : track["samples"][column]) all += weight.get<double>();
    }
    return all;
  };
  CHECK(sum("weight") == Approx(kAll / 1e6));
  CHECK(sum("threadCPUDelta") == Approx(kTruth.at("cpu")));
}

TEST_CASE("value_types: in the page the kind is a label") {
  const TempDir folder;
  const std::string page = folder.write("page.html", rendered(render_html, of_three_kinds()));
  const ProgramResult result = run_program(
      {require_program("node"), std::string(paths::kPageTests) + "/read_page.mjs", page}, "");
  INFO(result.err);
  REQUIRE(result.exit_status == 0);
  Times times;
  const json read = json::parse(result.out);
  for (const json& sample : read["samples"]) {
    times[sample["labels"]["state"]] += sample["weight"].get<std::uint64_t>();
  }
  CHECK(times == kTruth);
  CHECK(read["facts"]["mode"] == "time");
}

TEST_CASE("value_types: the ledger says how much of its time is of which kind") {
  Profile profile = of_three_kinds();
  profile.backend = "bpf";
  CHECK(time_line(profile) ==
        "73.5 us of threads' time = 73.5 us (100.0%) attributed (3.00 us cpu, 500 ns runnable, "
        "70.0 us waiting) + 0 ns (0.0%) of threads never sampled + 0 ns (0.0%) lost");
}

TEST_CASE("value_types: recordings of other kinds are not merged, and rules keep kinds apart") {
  Profile three = of_three_kinds();
  Profile one = SmallProfile().profile;
  const Status merged = merge(one, three);
  REQUIRE_FALSE(merged);
  CHECK(merged.error().context ==
        "it counts cpu time and runnable time and waiting time, and the one before cpu time; give "
        "recordings that count the same");
  for (SampleRow& row : three.rows) row.time_ns = 0;
  LabelRules rules;
  rules.deny = {"tenant"};
  static_cast<void>(apply_rules(rules, three));
  CHECK(three.rows.size() == 3);
  CHECK(times_of(three) == kTruth);
}

TEST_CASE("value_types: a row of a value that there is none of is refused") {
  Profile profile = of_three_kinds();
  profile.rows[0].value = 3;
  std::ostringstream out;
  CHECK(render_pprof(profile, {}, out).error().code == ErrorCode::kMalformed);
  profile = of_three_kinds();
  std::string text = rendered(render_jsonl, profile);
  const std::size_t at = text.find("\"value\":2");
  REQUIRE(at != std::string::npos);
  text.replace(at, 9, "\"value\":3");
  std::istringstream in(text);
  const auto recording = read_recording(in);
  REQUIRE(recording);
  CHECK(recording->profile.rows.size() == 5);
  CHECK_FALSE(recording->lost.empty());
}

TEST_CASE("value_types: a selection by label keeps its totals, and one by time or thread none") {
  Profile profile = of_three_kinds();
  for (SampleRow& row : profile.rows) row.time_ns = profile.start_monotonic_ns + 5;
  SampleRow unsampled = profile.rows.back();
  unsampled.count = 0;
  unsampled.time_ns = 0;
  profile.rows.push_back(unsampled);
  for (const SampleRow& row : profile.rows) {
    WaitRow waits;
    waits.process = profile.threads.at(row.thread).process;
    waits.label_set = row.label_set;
    waits.value = 2;
    profile.waits.push_back(waits);
  }
  const auto selected = [&](const std::string& condition, std::optional<int> since) {
    Profile part = profile;
    Selection selection;
    if (!condition.empty()) selection.conditions.push_back(*Condition::parse(condition));
    if (since) selection.since = std::chrono::nanoseconds(*since);
    REQUIRE(select(part, selection));
    return part;
  };
  CHECK(selected("tenant=42", {}).rows.back().count == 0);
  CHECK(selected("tenant=42", {}).waits.size() == profile.waits.size());
  CHECK(selected("tenant!=42", {}).waits.empty());
  CHECK(selected("pid~.*", {}).waits.size() == profile.waits.size());
  CHECK(selected("pid=0", {}).waits.empty());
  CHECK(selected("thread_id~.*", {}).waits.empty());
  // The time of a total without a sample lies anywhere in the recording.
  const Profile by_time = selected("", 1);
  CHECK(by_time.rows.size() == profile.rows.size() - 1);
  CHECK(by_time.waits.empty());
}

TEST_CASE("value_types: totals of waits survive a recording, and give lengths by label") {
  Profile profile = of_three_kinds();
  WaitRow waits;
  waits.process = profile.threads.at(0).process;
  waits.label_set = profile.rows.back().label_set;
  waits.outcome = LS_LABELLED;
  waits.value = 2;
  waits.time_ns = 70'000;
  waits.count = 100;
  waits.lengths[3] = 98;  // of 4,096 to 8,192 ns
  waits.lengths[10] = 2;  // of 524 us to 1.05 ms
  profile.waits = {waits, waits};
  const Profile read = read_again(rendered(render_jsonl, profile));
  REQUIRE(read.waits.size() == 2);
  const WaitRow& again = read.waits[1];
  CHECK(again.process == waits.process);
  CHECK(again.label_set == waits.label_set);
  CHECK(again.time_ns == waits.time_ns);
  CHECK(again.count == waits.count);
  CHECK(again.lengths == waits.lengths);

  std::ostringstream lines;
  REQUIRE(render_summary_json(read, {"tenant", "thread_id"}, lines).has_value());
  std::istringstream both(lines.str());
  std::string line;
  std::getline(both, line);
  const json of_tenant = json::parse(line).at("values").at(0).at("waits");
  CHECK(of_tenant.size() == 1);
  const json& lengths = of_tenant.at("waiting");
  CHECK(lengths.at("count") == 200);
  CHECK(lengths.at("p50_ns").get<double>() > 4096);
  CHECK(lengths.at("p50_ns").get<double>() < 8192);
  CHECK(lengths.at("p99_ns").get<double>() > 524'288);
  CHECK(lengths.at("p99_ns").get<double>() < 1'048'577);
  // Totals know no threads.
  std::getline(both, line);
  CHECK_FALSE(json::parse(line).at("values").at(0).contains("waits"));

  std::ostringstream table;
  REQUIRE(render_summary(read, {"tenant"}, {}, table).has_value());
  CHECK(std::regex_search(table.str(), std::regex("p50 wait +p99 wait")));

  Profile twice = read;
  REQUIRE(merge(twice, read).has_value());
  REQUIRE(twice.waits.size() == 4);
  CHECK(twice.label_sets.at(twice.waits[3].label_set) ==
        twice.label_sets.at(twice.waits[0].label_set));
}
