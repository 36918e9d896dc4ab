// Tests recordings read back: what was written comes out. Damaged lines are lost and counted, and
// all others are kept.
#include "cli/format/jsonl/jsonl_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/answer/selection.h"
#include "cli/format/common/row_labels.h"
#include "cli/format/common/rows.h"
#include "cli/format/format.h"
#include "cli/profile/merge.h"
#include "support/catch.h"
#include "unit/format/profile_maker.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;
using namespace std::string_literals;

namespace {

// Makes a profile with something of everything that a recording can hold.
Profile recorded_profile() {
  SmallProfile made;
  made.profile.program = made.main_module;
  made.profile.start_unix_ns = 1'700'000'000'000'000'000;
  made.profile.start_monotonic_ns = 1000;
  made.profile.duration_ns = 1'000'000'000;
  made.profile.locations[0].kind = LS_FRAME_CODE_BY_FP;
  made.profile.processes[0].attributes = {{"raw", "\xff"}, {"service.name", "shop"}};
  made.profile.stacks[made.work_stack].end = LS_STACK_ROOT;
  for (const char* tenant : {"42", "42", "7", "4\xff\0"}) {
    made.labelled({{"tenant", tenant}, {"http.route", "/pay \n"}}).flags = LS_TRUNCATED_LABELS;
  }
  made.sample(made.shop_thread, made.work_stack, made.no_labels, LS_UNREADABLE_NOT_RESIDENT);
  made.sample(made.shop_thread, kNoIndex, made.no_labels, LS_UNLABELLED).count = 3;
  Profile profile = weighed(std::move(made.profile), 1'000'000);
  std::uint64_t time = profile.start_monotonic_ns;
  for (SampleRow& row : profile.rows) row.time_ns = time += 1'000'000;
  profile.ledger = ledger_of_rows(profile);
  profile.ledger.counters.set("replanned", 2);
  profile.ledger.time.lost_ns = 5;
  return profile;
}

std::string written(const Profile& profile, Render* render = render_jsonl) {
  std::ostringstream out;
  REQUIRE(render(profile, {}, out).has_value());
  return out.str();
}

Result<ReadRecording> read(const std::string& text) {
  std::istringstream in(text);
  ReadBudget budget;
  return read_jsonl(in, budget);
}

ReadRecording good(const std::string& text) {
  auto recording = read(text);
  INFO((recording ? "" : recording.error().context));
  REQUIRE(recording);
  return *std::move(recording);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::size_t first_of(const std::vector<std::string>& lines, const std::string& type) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("{\"type\":\"" + type + "\"")) return i;
  }
  FAIL("no line of type " << type);
  return 0;
}

std::uint64_t samples_in(const Profile& profile) {
  std::uint64_t count = 0;
  for (const SampleRow& row : profile.rows) count += row.count;
  return count;
}

}  // namespace

TEST_CASE("jsonl_reader: every format has the same bytes from the recording as from the profile") {
  const Profile profile = recorded_profile();
  const ReadRecording back = good(written(profile));
  CHECK(back.lost.empty());
  for (const Format& format : kFormats) {
    INFO(format.name);
    CHECK(written(back.profile, format.render) == written(profile, format.render));
  }
}

TEST_CASE("jsonl_reader: sample lines of another writer are read as well") {
  const std::string text = written(recorded_profile());
  std::vector<std::string> lines = lines_of(text);
  for (std::string& line : lines) {
    if (line.starts_with("{\"type\":\"sample\"")) line.insert(1, "\"from\":\"elsewhere\", ");
  }
  const ReadRecording back = good(text_of(lines));
  CHECK(back.lost.empty());
  CHECK(written(back.profile) == text);
}

TEST_CASE("jsonl_reader: a damaged line costs itself, and what refers to it keeps its place") {
  const std::string text = written(recorded_profile());
  for (const char* type :
       {"process", "thread", "module", "location", "stack", "labels", "sample"}) {
    INFO(type);
    std::vector<std::string> lines = lines_of(text);
    lines[first_of(lines, type)].resize(20);
    const ReadRecording back = good(text_of(lines));
    REQUIRE_FALSE(back.lost.empty());
    CHECK(back.lost[0].find("1 line cannot be read, the first one is line") != std::string::npos);
    const std::uint64_t lost = type == "sample"s ? 1 : 0;
    CHECK(samples_in(back.profile) == samples_in(recorded_profile()) - lost);
    for (const Format& format : kFormats) written(back.profile, format.render);
  }
}

TEST_CASE(
    "jsonl_reader: of two recordings in one file the first is read, and the second is reported") {
  const std::string text = written(recorded_profile());
  for (const std::size_t cut : {std::size_t{0}, text.size() / 2}) {
    const ReadRecording back = good(text.substr(0, text.size() - cut) + text);
    const auto told = std::ranges::find_if(back.lost, [](const std::string& lost) {
      return lost.find("give them as two files") != std::string::npos;
    });
    REQUIRE(told != back.lost.end());
    CHECK(samples_in(back.profile) <= samples_in(recorded_profile()));
    if (cut == 0) CHECK(back.lost.size() == 1);
    if (cut == 0) CHECK(written(back.profile) == text);
  }
}

TEST_CASE(
    "jsonl_reader: what has an ID that was given twice is nothing, and not the first of them") {
  const std::string text = written(recorded_profile());
  const auto of_tenant = [](const Profile& profile) {
    std::uint64_t count = 0;
    for (const SampleRow& row : profile.rows) {
      if (!profile.label_sets[row.label_set].empty()) count += row.count;
    }
    return count;
  };
  std::vector<std::string> lines = lines_of(text);
  const auto twice = [&](const std::string& type, const char* other) {
    std::size_t at = first_of(lines, type);
    while (type == "labels" && lines[at].find("tenant") == std::string::npos) ++at;
    const std::size_t id = lines[at].find("\"id\":") + 5;
    const std::string number = lines[at].substr(id, lines[at].find(',', id) - id);
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(first_of(lines, "sample")),
                 R"({"type":")" + type + R"(","id":)" + number + other);
  };
  twice("labels", R"(,"labels":[{"key":"tenant","value":"other","publisher":0}]})");
  twice("stack", R"(,"locations":[],"end":"complete"})");
  const ReadRecording back = good(text_of(lines));
  REQUIRE(back.lost.size() == 1);
  CHECK(back.lost[0].starts_with("2 lines cannot be read"));
  CHECK(back.lost[0].find("its ID was given before") != std::string::npos);
  CHECK(samples_in(back.profile) == samples_in(recorded_profile()));
  CHECK(of_tenant(back.profile) < of_tenant(good(text).profile));
  CHECK(back.profile.stacks[0].frames.empty());
  const Ledger before = recorded_profile().ledger;
  const Ledger& after = back.profile.ledger;
  // The reader's loss is not counted as a fault of the program.
  CHECK(after.outcomes[LS_UNREADABLE_MALFORMED] == before.outcomes[LS_UNREADABLE_MALFORMED]);
  CHECK(after.outcomes[LS_UNREADABLE_LOST] > 0);
  CHECK(after.outcomes[LS_LABELLED] + after.outcomes[LS_UNREADABLE_LOST] ==
        before.outcomes[LS_LABELLED]);
  CHECK(after.written == before.written);
}

TEST_CASE("jsonl_reader: a recording cut anywhere is read up to there, or is none") {
  const std::string text = written(recorded_profile());
  const std::size_t header = text.find('\n');
  std::uint64_t most = 0;
  for (std::size_t size = 0; size < text.size() - 1; size += 7) {
    const auto back = read(text.substr(0, size));
    if (size <= header) {
      CHECK_FALSE(back);
      continue;
    }
    REQUIRE(back);
    REQUIRE(back->lost.size() == 1);
    CHECK(back->lost[0].starts_with("it was cut short"));
    CHECK((back->lost[0].find("before its first sample") != std::string::npos) ==
          back->profile.rows.empty());
    CHECK(samples_in(back->profile) >= most);
    most = samples_in(back->profile);
    CHECK(back->profile.ledger.written == most);
    written(back->profile);
  }
  CHECK(most > 0);
}

TEST_CASE("jsonl_reader: what is no recording, or a later one, is refused") {
  const std::string text = written(recorded_profile());
  CHECK(read("").error().context == "it is empty");
  CHECK(read("{}\n").error().code == ErrorCode::kMalformed);
  CHECK(read(text.substr(text.find('\n') + 1)).error().code == ErrorCode::kMalformed);
  for (const char* version : {"\"version\":3", "\"version\":0"}) {
    std::string other = text;
    other.replace(other.find("\"version\":2"), 11, version);
    CHECK(read(other).error().code == ErrorCode::kUnsupported);
  }
}

TEST_CASE("jsonl_reader: version 1 knows processes by their numbers") {
  const Profile profile = recorded_profile();
  std::string old = written(profile);
  old.replace(old.find("\"version\":2"), 11, "\"version\":1");
  std::string without_ids;
  for (const std::string& line : lines_of(old)) {
    auto object = nlohmann::ordered_json::parse(line);
    const std::string type = object.at("type");
    if (type != "process") object.erase("process");
    object.erase("by_process");
    without_ids += object.dump() + '\n';
  }
  const auto again = read(without_ids);
  REQUIRE(again);
  CHECK(again->lost.empty());
  REQUIRE(again->profile.threads.size() == profile.threads.size());
  for (std::size_t i = 0; i < profile.threads.size(); ++i) {
    CHECK(again->profile.pid_of(again->profile.threads[i]) == profile.pid_of(profile.threads[i]));
  }
  // The line of a process may be damaged, and its number is known all the same.
  std::vector<std::string> lines = lines_of(without_ids);
  lines[first_of(lines, "process")] = "damaged";
  std::string damaged;
  for (const std::string& line : lines) damaged += line + '\n';
  const auto rest = read(damaged);
  REQUIRE(rest);
  CHECK(rest->profile.pid_of(rest->profile.threads[0]) == profile.pid_of(profile.threads[0]));
}

TEST_CASE("jsonl_reader: two processes of one number stay two") {
  ProfileMaker made;
  const Index stack = made.stack({});
  for (const char* name : {"first", "second"}) {
    made.process(7, name, {});
    made.sample(made.thread(7, 7, name), stack, made.labels({}), LS_UNLABELLED);
    ThreadLedger ledger;
    ledger.process.pid = Pid{7};
    ledger.entry = static_cast<Index>(made.profile.processes.size() - 1);
    ledger.wall_ns = 1;
    made.profile.thread_ledgers.add(ledger);
  }
  const std::string text = written(made.profile);
  const auto again = read(text);
  REQUIRE(again);
  REQUIRE(again->profile.threads.size() == 2);
  const RowLabels labels(again->profile);
  CHECK(labels.value(again->profile.rows[0], kCommKey) == "first");
  CHECK(labels.value(again->profile.rows[1], kCommKey) == "second");
  CHECK(labels.value(again->profile.rows[1], kPidKey) == "7");
  const auto& ledgers = again->profile.thread_ledgers.threads();
  REQUIRE(ledgers.size() == 2);
  CHECK(again->profile.processes[ledgers[0].entry].comm == "first");
  CHECK(again->profile.processes[ledgers[1].entry].comm == "second");
  Profile both = again->profile;
  REQUIRE(merge(both, again->profile));
  CHECK(both.thread_ledgers.threads()[3].entry == ledgers[1].entry + 2);
  // The lines of threads had the number alone at first.
  std::string first_text;
  for (const std::string& line : lines_of(text)) {
    auto object = nlohmann::ordered_json::parse(line);
    if (object.at("type") == "thread_ledger") object.erase("process");
    first_text += object.dump() + '\n';
  }
  const auto first = read(first_text);
  REQUIRE(first);
  CHECK(first->lost == again->lost);
  CHECK(first->profile.thread_ledgers.threads()[0].entry == kNoIndex);
  CHECK(first->profile.thread_ledgers.threads()[0].process.pid == Pid{7});
}

TEST_CASE("jsonl_reader: numbers that lead nowhere take no memory and are reported") {
  std::vector<std::string> lines = lines_of(written(recorded_profile()));
  const auto sample = lines.begin() + static_cast<std::ptrdiff_t>(first_of(lines, "sample"));
  lines.insert(sample, {R"({"type":"stack","id":4000000000,"locations":[]})",
                        R"({"type":"stack","id":0,"locations":[]})",
                        R"({"type":"location","id":999999,"module":7777777})",
                        R"({"type":"sample","time_ns":1,"thread":4294967294,"count":1})",
                        R"({"type":"labels","id":"0","labels":{}})", "[[[[[[[[[[",
                        std::string(100000, '['), R"({"type":"from a later version"})"});
  const ReadRecording back = good(text_of(lines));
  REQUIRE(back.lost.size() == 1);
  CHECK(back.lost[0].starts_with("7 lines cannot be read"));
  CHECK(samples_in(back.profile) == samples_in(recorded_profile()));
}

TEST_CASE("jsonl_reader: names of a later version count as what is nearest") {
  std::string text = written(recorded_profile());
  const std::size_t outcome = text.find("\"labelled\"");
  text.replace(outcome, 10, "\"labelles\"");
  const ReadRecording back = good(text);
  const Profile before = recorded_profile();
  for (std::size_t i = 0; i < before.rows.size(); ++i) {
    if (before.rows[i].outcome != LS_LABELLED) continue;
    CHECK(back.profile.rows[i].outcome == LS_UNREADABLE_MALFORMED);
  }
}

TEST_CASE("selection: conditions on labels leave the others out, and the ledger adds up again") {
  const auto left = [](const std::string& condition) {
    Profile profile = recorded_profile();
    Selection selection;
    auto parsed = Condition::parse(condition);
    REQUIRE(parsed);
    selection.conditions.push_back(*std::move(parsed));
    REQUIRE(select(profile, selection));
    CHECK(profile.ledger.written == samples_in(profile));
    written(profile);
    return samples_in(profile);
  };
  const std::uint64_t all = samples_in(recorded_profile());
  for (const std::string key : {"tenant", "nobody", "pid"}) {
    INFO(key);
    CHECK(left(key + "=42") + left(key + "!=42") == all);
    CHECK(left(key + "~^4") + left(key + "!~^4") == all);
    CHECK(left(key + "~.*") == all);
  }
  CHECK(left("nobody!=<none>") < all);  // an unreadable sample may have the label
  CHECK_FALSE(Condition::parse("tenant"));
  CHECK_FALSE(Condition::parse("=42"));
  CHECK_FALSE(Condition::parse("!=42"));
  CHECK_FALSE(Condition::parse("tenant~("));
}

TEST_CASE("merge: two recordings are their sum, at the times of the clock of the day") {
  Profile both = recorded_profile();
  Profile later = recorded_profile();
  const Profile one = recorded_profile();
  later.start_unix_ns += 1'000'000;
  later.start_monotonic_ns += 5'000'000'000;  // for example after a restart
  for (SampleRow& row : later.rows) row.time_ns += 5'000'000'000;
  REQUIRE(merge(both, later));
  CHECK(samples_in(both) == 2 * samples_in(one));
  CHECK(both.ledger.written == 2 * one.ledger.written);
  CHECK(both.duration_ns == one.duration_ns + 1'000'000);
  CHECK(both.rows[one.rows.size()].time_ns == one.rows[0].time_ns + 1'000'000);
  CHECK(good(written(both)).lost.empty());
  later.values = {value_of_kind(LS_WHOLE_TIME)};
  CHECK(merge(both, later).error().code == ErrorCode::kUnsupported);
}
