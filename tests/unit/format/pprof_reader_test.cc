// pprof files read back: ours mean the same again, those of others are understood, and damage loses
// only what is damaged.
#include "cli/format/pprof/pprof_reader.h"

#include <map>
#include <protozero/pbf_builder.hpp>
#include <sstream>
#include <tuple>

#include "cli/format/common/frame_tree.h"
#include "cli/format/common/gzip_writer.h"
#include "cli/format/common/row_labels.h"
#include "cli/format/common/rows.h"
#include "cli/format/format.h"
#include "cli/format/pprof/pprof_parts.h"
#include "cli/text/escape.h"
#include "support/catch.h"
#include "unit/format/profile_maker.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;
using namespace std::string_literals;
using protozero::pbf_builder;

namespace {

std::string rendered(const Profile& profile) {
  std::ostringstream out;
  REQUIRE(render_pprof(profile, {}, out).has_value());
  return out.str();
}

Result<ReadRecording> read(const std::string& bytes) {
  std::istringstream in(bytes);
  return read_recording(in);
}

ReadRecording good(const std::string& bytes) {
  auto recording = read(bytes);
  INFO((recording ? "" : recording.error().context));
  REQUIRE(recording);
  return *std::move(recording);
}

// Samples and time by everything that distinguishes samples, in the terms of pprof.
using Totals = std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>;
Totals totals_of(const Profile& profile) {
  const RowLabels labels(profile);
  Totals totals;
  for (const SampleRow& row : profile.rows) {
    std::string who = std::string(outcome_name(row.outcome)) + " " + flag_words(row.flags) + " ";
    for (const std::string_view key : {kPidKey, kThreadIdKey, kThreadNameKey, kCommKey}) {
      who += labels.group_frame(row, key) + " ";
    }
    std::map<std::string, std::string> set;
    for (const Label& label : labels.label_set(row)) {
      set.emplace(label.key, label.value.empty() ? kEmptyText : label.value);
    }
    for (const auto& [key, value] : set) who += key + "=" + value + " ";
    if (row.stack != kNoIndex) {
      for (const Index frame : profile.stacks[row.stack].frames) {
        for (const std::string& name : function_names(profile, profile.locations[frame])) {
          who += name + ";";
        }
      }
    }
    auto& [samples, weight] = totals[escape_terminal(who)];
    samples += row.count;
    weight += row.weight_ns;
  }
  return totals;
}

Profile of_everything() {
  SmallProfile made;
  // Most linkers do this, and a reader of pprof has to assume it.
  made.profile.modules[made.main_module].load_bias = 0x400000;
  const Index other = made.thread(100, 102, "other");
  const Index kernel =
      made.module(ProfileModule::Kind::kKernel, "[kernel]", 0xffff0000, 0xffffff00);
  const Index unnamed = made.stack({made.location(kernel, 0xffff1000, {"do_syscall"}),
                                    made.location(made.main_module, 0x403000, {"inlined", "outer"}),
                                    made.location(made.main_module, 0x404000, {})});
  made.labelled({{"tenant", "42"}, {"http.route", "/pay \n"}}).flags = LS_TRUNCATED_LABELS;
  made.labelled({{"tenant", "4\xff"}, {"zero", ""}});
  made.labelled({{"thread_name", "mine"}, {"pid", "7"}, {"labelscope.outcome", "odd"}});
  made.sample(other, unnamed, made.no_labels, LS_UNREADABLE_NOT_RESIDENT);
  made.sample(other, unnamed, made.labels({{"a", "b"}}), LS_UNREADABLE_MALFORMED).flags =
      LS_TRUNCATED_BYTES | LS_TRUNCATED_SLOTS | LS_NULL_VALUE | LS_STACK_CUT;
  made.sample(made.shop_thread, kNoIndex, made.no_labels, LS_UNLABELLED).count = 3;
  made.sample(kNoIndex, made.work_stack, made.no_labels, LS_UNLABELLED);
  Profile profile = weighed(std::move(made.profile), 1'000'000);
  profile.ledger = ledger_of_rows(profile);
  return profile;
}

// A file of another tool, assembled by hand.
struct ForeignFile {
  std::string bytes;
  pbf_builder<ProfileField> top{bytes};
  std::int64_t strings = 0;

  ForeignFile() { text(""); }
  std::int64_t text(const std::string& text) {
    top.add_string(ProfileField::kStringTable, text);
    return strings++;
  }
  void type(const std::string& type, const std::string& unit,
            ProfileField field = ProfileField::kSampleType) {
    std::string message;
    pbf_builder<ValueTypeField> value(message);
    value.add_int64(ValueTypeField::kType, text(type));
    value.add_int64(ValueTypeField::kUnit, text(unit));
    top.add_message(field, message);
  }
  void function(std::uint64_t id, const std::string& name) {
    std::string message;
    pbf_builder<FunctionField> function(message);
    function.add_uint64(FunctionField::kId, id);
    function.add_int64(FunctionField::kName, text(name));
    top.add_message(ProfileField::kFunction, message);
    std::string line;
    pbf_builder<LineField>(line).add_uint64(LineField::kFunctionId, id);
    std::string place;
    pbf_builder<LocationField> location(place);
    location.add_uint64(LocationField::kId, id);
    location.add_message(LocationField::kLine, line);
    top.add_message(ProfileField::kLocation, place);
  }
  // The numbers are not packed, as old writers leave them.
  void sample(const std::vector<std::uint64_t>& locations, const std::vector<std::int64_t>& values,
              const std::string& labels = {}) {
    std::string message;
    pbf_builder<SampleField> sample(message);
    for (const std::uint64_t id : locations) sample.add_uint64(SampleField::kLocationId, id);
    for (const std::int64_t value : values) sample.add_int64(SampleField::kValue, value);
    top.add_message(ProfileField::kSample, message + labels);
  }
  std::string label(const std::string& key, const std::string& value) {
    std::string message;
    pbf_builder<LabelField> label(message);
    label.add_int64(LabelField::kKey, text(key));
    label.add_int64(LabelField::kStr, text(value));
    return in_sample(message);
  }
  std::string label(const std::string& key, std::int64_t number, const std::string& unit) {
    std::string message;
    pbf_builder<LabelField> label(message);
    label.add_int64(LabelField::kKey, text(key));
    label.add_int64(LabelField::kNum, number);
    if (!unit.empty()) label.add_int64(LabelField::kNumUnit, text(unit));
    return in_sample(message);
  }
  static std::string in_sample(const std::string& message) {
    std::string field;
    pbf_builder<SampleField>(field).add_message(SampleField::kLabel, message);
    return field;
  }
};

ForeignFile heap() {
  ForeignFile file;
  file.type("alloc_objects", "count");
  file.type("alloc_space", "bytes");
  file.type("inuse_objects", "count");
  file.type("inuse_space", "bytes");
  file.function(7, "main.main");
  file.function(900, "main.grow");
  file.sample({900, 7}, {10, 5120, 2, 1024}, file.label("bytes", 512, "bytes"));
  file.sample({7}, {1, 64, 1, 64}, file.label("tenant", "acme"));
  file.sample({7}, {1, 64, 0, 0});  // has been freed since
  return file;
}

bool has(const std::vector<std::string>& lines, const std::string& part) {
  for (const std::string& line : lines) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE(
    "pprof_reader: of our own file every total by label, outcome, thread and stack is there") {
  const Profile before = of_everything();
  const ReadRecording once = good(rendered(before));
  CHECK(once.lost.empty());
  CHECK(once.notes.empty());
  CHECK(totals_of(once.profile) == totals_of(before));
  CHECK(once.profile.command_line == before.command_line);
  CHECK(once.profile.backend == "bpf");
  CHECK(once.profile.duration_ns == before.duration_ns);
  CHECK(once.profile.period_ns == before.period_ns);
  const ReadRecording twice = good(rendered(once.profile));
  CHECK(twice.lost.empty());
  CHECK(totals_of(twice.profile) == totals_of(before));
}

TEST_CASE("pprof_reader: what processes have said of themselves is theirs again") {
  SmallProfile small;
  small.labelled({});
  Attributes& attributes = small.profile.processes[0].attributes;
  attributes = {{"service.name", "shop"}, {"odd key: ", "a=b"}, {"empty", ""}};
  const Profile once = good(rendered(small.profile)).profile;
  REQUIRE(once.processes.size() == 1);
  CHECK(once.processes[0].attributes ==
        Attributes{{"service.name", "shop"}, {"odd key: ", "a=b"}, {"empty", ""}});
}

TEST_CASE("pprof_reader: a thread without labels stays one, whatever labels its process has") {
  SmallProfile small;
  small.sample(small.shop_thread, small.work_stack, small.labels({{"uid", "7"}}), LS_UNLABELLED);
  const Profile once = good(rendered(small.profile)).profile;
  REQUIRE(once.rows.size() == 1);
  CHECK(once.rows[0].outcome == LS_UNLABELLED);
  CHECK(once.label_sets[once.rows[0].label_set] == LabelSet{{"uid", "7", 0}});
}

TEST_CASE("pprof_reader: the labels of six publishers and of their process are one row") {
  SmallProfile small;
  std::vector<std::pair<std::string, std::string>> all;
  for (unsigned i = 0; i < LS_MAX_LABELS * (LS_MAX_PUBLISHERS + 1); ++i) {
    all.emplace_back("key" + std::to_string(i), "v");
  }
  small.labelled(all);
  const ReadRecording once = good(rendered(small.profile));
  CHECK(once.lost.empty());
  REQUIRE(once.profile.rows.size() == 1);
  CHECK(once.profile.label_sets[once.profile.rows[0].label_set].size() == all.size());
}

TEST_CASE("pprof_reader: what it has read can be written in every format and read again") {
  for (const Profile& profile :
       {good(rendered(of_everything())).profile, good(heap().bytes).profile}) {
    for (const Format& format : kFormats) {
      INFO(format.name);
      std::ostringstream out;
      CHECK(format.render(profile, {}, out).has_value());
      if (format.name == "jsonl") {
        CHECK(totals_of(good(out.str()).profile) == totals_of(profile));
      }
    }
  }
}

TEST_CASE("pprof_reader: of a heap profile the last value counts, in its unit, and that is said") {
  const ReadRecording heap_profile = good(heap().bytes);
  CHECK(heap_profile.lost.empty());
  CHECK(has(heap_profile.notes, "its values are inuse_space/bytes"));
  CHECK(has(heap_profile.notes, "alloc_space/bytes"));
  const Profile& profile = heap_profile.profile;
  CHECK(profile.values.front() == parse_value_type("inuse_space/bytes"));
  REQUIRE(profile.rows.size() == 2);
  CHECK(profile.rows[0].weight_ns == 1024);
  CHECK(profile.rows[0].count == 2);
  const RowLabels labels(profile);
  CHECK(labels.value(profile.rows[0], "bytes") == "512");
  CHECK(labels.value(profile.rows[1], "tenant") == "acme");
  CHECK_FALSE(labels.thread(profile.rows[0]));
  const Stack& stack = profile.stacks[profile.rows[0].stack];
  CHECK(profile.locations[stack.frames[0]].lines[0].function == "main.grow");
  // The same holds for a file of ours.
  CHECK(good(rendered(profile)).profile.values.front() == parse_value_type("inuse_space/bytes"));
  CHECK(good(rendered(profile)).profile.counted == "inuse_objects");
}

TEST_CASE("pprof_reader: objects and contentions are not samples, and chance has no part in them") {
  const Profile profile = good(heap().bytes).profile;
  CHECK(profile.counted == "inuse_objects");
  CHECK_FALSE(profile.counts_samples());
  for (const char* name : {"samples", "sample", "cpu-cycles_sample"}) {
    ForeignFile file;
    file.type(name, "count");
    file.type("cpu", "nanoseconds");
    file.sample({}, {2, 20});
    CHECK(good(file.bytes).profile.counts_samples());
  }
  ForeignFile nothing;
  nothing.type("delay", "nanoseconds");
  nothing.sample({}, {5});
  CHECK(good(nothing.bytes).profile.counted == "entries");
  // And it is the same in our files.
  for (Render* render : {render_jsonl, render_pprof}) {
    std::ostringstream out;
    REQUIRE(render(profile, {}, out));
    CHECK(good(out.str()).profile.counted == "inuse_objects");
  }
}

TEST_CASE("pprof_reader: the value that is asked for is taken, by its name or with its unit") {
  const auto read_value = [](const std::string& bytes, const std::string& value) {
    std::istringstream in(bytes);
    return read_recording(in, value);
  };
  for (const std::string& name : {"alloc_space"s, "alloc_space/bytes"s}) {
    const auto chosen = read_value(heap().bytes, name);
    REQUIRE(chosen);
    CHECK(chosen->profile.values.front() == parse_value_type("alloc_space/bytes"));
    CHECK(chosen->profile.counted == "alloc_objects");
    CHECK(chosen->notes.empty());
  }
  const auto none = read_value(heap().bytes, "cpu");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::kUnsupported);
  CHECK(none.error().context.starts_with("it has no value cpu; there are: alloc_objects/count, "));
  std::ostringstream recording;
  REQUIRE(render_jsonl(of_everything(), {}, recording));
  CHECK(read_value(recording.str(), "cpu"));
  CHECK(read_value(recording.str(), "wall").error().context ==
        "it has no value wall; there is: cpu");
}

TEST_CASE("pprof_reader: one kind of time of several has the samples that have some of it") {
  ForeignFile file;
  file.type("samples", "count");
  file.type("cpu", "nanoseconds");
  file.type("waiting", "nanoseconds");
  file.sample({}, {3, 30, 0});
  file.sample({}, {2, 0, 500});
  for (const auto& [name, count, weight] :
       {std::tuple{"cpu", 3U, 30U}, std::tuple{"waiting", 2U, 500U}}) {
    INFO(name);
    std::istringstream in(file.bytes);
    const auto chosen = read_recording(in, name);
    REQUIRE(chosen);
    CHECK(chosen->profile.counts_samples());
    REQUIRE(chosen->profile.rows.size() == 1);
    CHECK(chosen->profile.rows.front().count == count);
    CHECK(chosen->profile.rows.front().weight_ns == weight);
  }
}

TEST_CASE("pprof_reader: CPU time is preferred, in any unit, and the default type follows") {
  ForeignFile file;
  file.type("samples", "count");
  file.type("cpu", "milliseconds");
  file.type("lock", "nanoseconds");
  file.sample({}, {2, 20, 1});
  CHECK(good(file.bytes).profile.rows.at(0).weight_ns == 20'000'000);
  CHECK(good(file.bytes).profile.rows.at(0).count == 2);
  CHECK(good(file.bytes).profile.values.front() == parse_value_type("cpu"));

  ForeignFile other;
  other.type("first", "widgets");
  other.type("second", "widgets");
  other.top.add_int64(ProfileField::kDefaultSampleType, other.text("first"));
  other.sample({}, {5, 6});
  CHECK(good(other.bytes).profile.rows.at(0).weight_ns == 5);
  CHECK(good(other.bytes).profile.values.front() == parse_value_type("first/widgets"));

  ForeignFile counted;
  counted.type("samples", "count");
  counted.type("cpu", "nanoseconds", ProfileField::kPeriodType);
  counted.top.add_int64(ProfileField::kPeriod, 10'000'000);
  counted.sample({}, {3});
  CHECK(good(counted.bytes).profile.values.front() == parse_value_type("cpu"));
  CHECK(good(counted.bytes).profile.rows.at(0).weight_ns == 30'000'000);
}

TEST_CASE("pprof_reader: numbers identify threads, and else names are labels") {
  ForeignFile file;
  file.type("cpu", "nanoseconds");
  file.sample({}, {1}, file.label("comm", "x") + file.label("thread_name", "y"));
  file.sample({}, {1}, file.label("thread_id", 5, "") + file.label("thread_name", "y"));
  file.sample({}, {1}, file.label("size", 3, "pages"));
  const Profile profile = good(file.bytes).profile;
  const RowLabels labels(profile);
  CHECK(profile.rows.at(0).thread == kNoIndex);
  CHECK(profile.rows.at(0).outcome == LS_LABELLED);
  CHECK(labels.value(profile.rows.at(0), "comm") == "x");
  CHECK(raw(labels.thread(profile.rows.at(1))->tid) == 5);
  CHECK(profile.rows.at(1).outcome == LS_UNLABELLED);
  CHECK(labels.value(profile.rows.at(2), "size") == "3 pages");
}

TEST_CASE("pprof_reader: what leads nowhere, is negative or odd costs itself and is reported") {
  ForeignFile file = heap();
  const std::size_t rows = good(file.bytes).profile.rows.size();
  file.sample({12345}, {1, 1, 1, 1});
  CHECK(has(good(file.bytes).lost, "1 reference in it lead to nothing"));
  CHECK(good(file.bytes).profile.rows.size() == rows + 1);
  file.sample({7}, {1, 1, -1, -5});
  CHECK(has(good(file.bytes).lost, "negative values"));
  file.sample({7}, {1});                                         // values are missing
  file.top.add_message(ProfileField::kSample, "\x0a\xff"s);      // cut within a field
  file.top.add_message(ProfileField::kSample, "\x0d\1\2\3\4"s);  // a fixed32 for the locations
  file.top.add_message(ProfileField::kFunction, "\x0a\0"s);      // bytes for an ID
  std::string labels;
  for (int i = 0; i <= LS_MAX_LABELS * (LS_MAX_PUBLISHERS + 1); ++i)
    labels += file.label("key" + std::to_string(i), "x");
  file.sample({7}, {1, 1, 1, 1}, labels);
  CHECK(has(good(file.bytes).lost, "5 parts of it are damaged"));
  CHECK(good(file.bytes).profile.rows.size() == rows + 1);
}

TEST_CASE("pprof_reader: a file cut anywhere is read up to there, or is none") {
  const std::string plain = heap().bytes;
  std::size_t most = 0;
  for (std::size_t size = 0; size < plain.size(); ++size) {
    const auto back = read(plain.substr(0, size));
    if (!back) continue;
    // A cut between two fields is not visible in the file.
    most = std::max(most, back->profile.rows.size());
    for (const Format& format : kFormats) {
      std::ostringstream out;
      CHECK(format.render(back->profile, {}, out).has_value());
    }
  }
  CHECK(most == 2);
  const std::string packed = rendered(of_everything());
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const auto back = read(packed.substr(0, size));
    if (back) {
      CHECK(has(back->lost, "its compressed data end too early"));
    } else {
      CHECK_FALSE(back.error().context.empty());
    }
  }
}

TEST_CASE(
    "recording_reader: a compressed recording is read, and what is missing of it is reported") {
  std::ostringstream plain;
  REQUIRE(render_jsonl(of_everything(), {}, plain).has_value());
  const auto packed = [](const std::string& text) {
    std::ostringstream out;
    GzipWriter gzip(out);
    gzip.write(text);
    REQUIRE(gzip.finish());
    return out.str();
  };
  const std::string half = plain.str().substr(0, plain.str().size() / 2);
  const std::string whole = packed(plain.str());
  CHECK(good(whole).lost.empty());
  CHECK(totals_of(good(whole).profile) == totals_of(of_everything()));
  // Two gzip members are one file, too.
  const std::string parts = packed(half) + packed(plain.str().substr(half.size()));
  CHECK(good(parts).lost.empty());
  const ReadRecording cut = good(whole.substr(0, whole.size() - 20));
  CHECK(has(cut.lost, "its compressed data end too early"));
  std::string damaged = whole;
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] + 1);
  CHECK(has(good(damaged).lost, "its compressed data are damaged"));
}

TEST_CASE("recording_reader: what is neither is refused in words") {
  for (const std::string& text : {"main;work 100\n"s, "\x7f"s + "ELF"s, "\x1f\x8b"s, "\x1f"s, "\0"s,
                                  std::string(1000, '\xff')}) {
    const auto back = read(text);
    REQUIRE_FALSE(back);
    CHECK(back.error().context.find("it") != std::string::npos);
  }
  for (const char* name : {"a.csv", "a.folded", "a.html", "a.svg", "a.otlp"}) {
    INFO(name);
    std::ostringstream out;
    REQUIRE(format_from_path(name)->render(of_everything(), {}, out));
    const auto back = read(out.str());
    REQUIRE_FALSE(back);
    CHECK(back.error().context.find("writes and does not read") != std::string::npos);
  }
  std::ostringstream recording;
  REQUIRE(render_jsonl(of_everything(), {}, recording));
  CHECK(good("\xEF\xBB\xBF" + recording.str()).lost.empty());
  CHECK_FALSE(read("\xEF\xBB"));
  CHECK(read("root:x:0:0::/root:/bin/sh\n").error().context.starts_with("it does not begin as a"));
}
