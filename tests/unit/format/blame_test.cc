// Who made whom wait, from the totals of the kernel to the matrix.
#include "cli/answer/blame.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/format/format.h"
#include "cli/format/jsonl/jsonl_reader.h"
#include "cli/profile/blame.h"
#include "cli/profile/idle.h"
#include "cli/profile/label_rules.h"
#include "cli/profile/merge.h"
#include "support/catch.h"
#include "unit/format/profile_maker.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;

namespace {

constexpr std::uint8_t kWaiting = 0;
constexpr std::uint8_t kRunnable = 1;

// Two tenants of one process, and what they made each other wait.
struct Contention : ProfileMaker {
  Contention() {
    profile.values = {value_of_kind(LS_WAITING), value_of_kind(LS_RUNNABLE)};
    profile.has_blame = true;
    process(100, "shop");
    thread(100, 101, "worker");
    acme = labels({{"tenant", "acme"}, {"wait", "futex"}});
    globex = labels({{"tenant", "globex"}, {"wait", "read"}});
    by_acme = labels({{"tenant", "acme"}});
    by_globex = labels({{"tenant", "globex"}});
    nobody = labels({});
  }
  BlameRow& row(Index waiter, std::uint64_t ns, ls_blame_kind kind, Index by = kNoIndex,
                std::uint8_t value = kWaiting) {
    BlameRow row;
    row.process = 0;
    row.label_set = waiter;
    row.value = value;
    row.time_ns = ns;
    row.count = 1;
    row.by.kind = kind;
    if (is_blamed_thread(kind)) {
      row.by.process = 0;
      row.by.label_set = by;
    }
    return profile.blame.emplace_back(row);
  }
  void total(Index waiter, std::uint64_t ns, std::uint64_t count, std::uint8_t value = kWaiting) {
    WaitRow row;
    row.process = 0;
    row.label_set = waiter;
    row.value = value;
    row.time_ns = ns;
    row.count = count;
    profile.waits.push_back(row);
  }
  Index acme, globex, by_acme, by_globex, nobody;
};

// All kinds of blame that there are.
Contention all_kinds() {
  Contention all;
  all.row(all.acme, 7'000'000, LS_BLAME_THREAD, all.by_globex);
  all.row(all.acme, 1'000'000, LS_BLAME_THREAD, all.by_acme, kRunnable);
  all.row(all.acme, 300'000, LS_BLAME_THREAD, all.nobody).by.outcome = LS_UNLABELLED;
  all.row(all.acme, 20'000, LS_BLAME_THREAD, all.nobody).by.outcome = LS_UNREADABLE_NOT_RESIDENT;
  all.row(all.globex, 4'000'000, LS_BLAME_TIMER);
  all.row(all.globex, 500'000, LS_BLAME_INTERRUPT);
  all.row(all.globex, 60'000, LS_BLAME_PROCESS).by.name = "na\x1bme";
  all.row(all.globex, 7'000, LS_BLAME_KERNEL);
  all.row(all.globex, 800, LS_BLAME_NOBODY_YET);
  all.row(all.globex, 90, LS_BLAME_UNKNOWN);
  BlameRow& bare = all.row(all.nobody, 5'000, LS_BLAME_TIMER);
  bare.outcome = LS_UNLABELLED;
  return all;
}

using Json = nlohmann::json;

Json blame_json_of(const Profile& profile, const std::string& key) {
  std::ostringstream out;
  REQUIRE(render_blame_json(profile, {key}, out));
  return Json::parse(out.str());
}

std::vector<std::vector<std::string>> table_of(const Profile& profile, const SummaryStyle& style) {
  std::ostringstream out;
  REQUIRE(render_blame(profile, {"tenant"}, style, out));
  std::vector<std::vector<std::string>> table;
  std::istringstream text(out.str());
  for (std::string line; std::getline(text, line);) {
    if (style.width != 0) CHECK(line.size() <= style.width);
    auto& words = table.emplace_back();
    std::istringstream stream(line);
    for (std::string word; stream >> word;) words.push_back(word);
  }
  return table;
}

// What the rows of one total have together.
std::uint64_t time_of(const Profile& profile, Index waiter, std::uint8_t value = kWaiting) {
  std::uint64_t sum = 0;
  for (const BlameRow& row : profile.blame) {
    if (row.label_set == waiter && row.value == value) sum += row.time_ns;
  }
  return sum;
}

}  // namespace

TEST_CASE("blame: rows add up to their total, and what is missing is unknown") {
  Contention some;
  some.row(some.acme, 60, LS_BLAME_THREAD, some.by_globex);
  some.row(some.acme, 15, LS_BLAME_TIMER);
  some.row(some.acme, 15, LS_BLAME_TIMER);
  some.row(some.acme, 1000, LS_BLAME_NOBODY_YET);
  some.row(some.globex, 50, LS_BLAME_THREAD, some.by_acme);
  some.row(some.globex, 20, LS_BLAME_TIMER);
  some.total(some.acme, 100, 9);
  some.total(some.globex, 66, 2);  // the programs had added to the parts only
  some.total(some.globex, 5, 1, kRunnable);
  complete_blame(some.profile);
  CHECK(time_of(some.profile, some.acme) == 1100);
  CHECK(time_of(some.profile, some.globex) == 66);
  CHECK(time_of(some.profile, some.globex, kRunnable) == 5);
  const auto unknown = std::ranges::find_if(some.profile.blame, [&](const BlameRow& row) {
    return row.by.kind == LS_BLAME_UNKNOWN && row.label_set == some.acme;
  });
  REQUIRE(unknown != some.profile.blame.end());
  CHECK(unknown->time_ns == 10);
  CHECK(unknown->count == 6);
  const auto timers = std::ranges::count_if(some.profile.blame, [&](const BlameRow& row) {
    return row.by.kind == LS_BLAME_TIMER && row.label_set == some.acme;
  });
  CHECK(timers == 1);
  // Each part has its share of the total.
  const auto longest = std::ranges::find_if(some.profile.blame, [&](const BlameRow& row) {
    return row.by.kind == LS_BLAME_THREAD && row.label_set == some.globex;
  });
  REQUIRE(longest != some.profile.blame.end());
  CHECK(longest->time_ns == 47);
}

// The kernel has begun to divide blame by the tenant alone.
TEST_CASE("blame: by its keys alone, rows add up to all totals of these labels") {
  Contention some;
  const Index one = some.labels({{"request", "1"}, {"tenant", "acme"}, {"wait", "futex"}});
  const Index two = some.labels({{"request", "2"}, {"tenant", "acme"}, {"wait", "futex"}});
  const Index by_request = some.labels({{"request", "3"}, {"tenant", "globex"}});
  some.row(one, 30, LS_BLAME_THREAD, by_request);
  some.row(some.acme, 50, LS_BLAME_THREAD, some.by_globex);
  some.row(two, 500, LS_BLAME_NOBODY_YET);
  some.total(one, 40, 2);
  some.total(two, 55, 3);
  some.profile.blame_keys = {"tenant"};
  complete_blame(some.profile);
  for (const BlameRow& row : some.profile.blame) CHECK(row.label_set == some.acme);
  CHECK(time_of(some.profile, some.acme) == 595);
  const auto by_globex = std::ranges::find_if(some.profile.blame, [&](const BlameRow& row) {
    return row.by.label_set == some.by_globex;
  });
  REQUIRE(by_globex != some.profile.blame.end());
  CHECK(by_globex->time_ns == 80);
  CHECK(by_globex->count == 2);
  const auto unknown =
      std::ranges::find(some.profile.blame, LS_BLAME_UNKNOWN, [](const BlameRow& row) {
        return row.by.kind;
      });
  REQUIRE(unknown != some.profile.blame.end());
  CHECK(unknown->time_ns == 15);
  CHECK(unknown->count == 3);
  CHECK(has_blame_by(some.profile, "tenant"));
  CHECK(has_blame_by(some.profile, "wait"));
  CHECK(has_blame_by(some.profile, "pid"));
  CHECK_FALSE(has_blame_by(some.profile, "request"));
  CHECK(why_no_blame_by(some.profile, "request").find("by tenant alone") != std::string::npos);
  std::stringstream file;
  REQUIRE(render_jsonl(some.profile, {}, file));
  ReadBudget budget;
  auto read = read_jsonl(file, budget);
  REQUIRE(read);
  CHECK(read->profile.blame_keys == std::vector<std::string>{"tenant"});
  CHECK(blame_json_of(read->profile, "tenant") == blame_json_of(some.profile, "tenant"));
  // Only what is known of all of them is known of both.
  Contention all;
  REQUIRE(merge(all.profile, some.profile));
  CHECK(all.profile.blame_keys == std::vector<std::string>{"tenant"});
  Contention other;
  other.profile.blame_keys = {"route"};
  REQUIRE(merge(other.profile, some.profile));
  CHECK_FALSE(other.profile.has_blame);
}

TEST_CASE("blame: waits that have not ended are because of nobody yet") {
  Contention some;
  SampleRow& open = some.sample(0, kNoIndex, some.acme, LS_LABELLED, LS_STILL_WAITING);
  open.weight_ns = 77;
  some.sample(0, kNoIndex, some.acme, LS_LABELLED).weight_ns = 5;
  blame_open_waits(some.profile);
  REQUIRE(some.profile.blame.size() == 1);
  CHECK(some.profile.blame[0].by.kind == LS_BLAME_NOBODY_YET);
  CHECK(some.profile.blame[0].time_ns == 77);
  CHECK(some.profile.pid_of(some.profile.blame[0].process) == Pid{100});
}

TEST_CASE("blame: the matrix has a column for each value, and for each kind without one") {
  const auto table = table_of(all_kinds().profile, {.width = 0});
  REQUIRE(table.size() == 5);
  using Words = std::vector<std::string>;
  CHECK(table[0] == Words{"tenant", "waited", "globex", "(timer)", "acme", "(interrupt)", "(unset)",
                          "(other", "processes)", "(unreadable)", "(kernel)", "(still", "waiting)",
                          "(unknown)"});
  CHECK(table[1] == Words{"acme", "8.32", "ms", "7.00", "ms", "-", "1.00", "ms", "-", "300", "us",
                          "-", "20.0", "us", "-", "-", "-"});
  CHECK(table[2] == Words{"globex", "4.57", "ms", "-", "4.00", "ms", "-", "500", "us", "-", "60.0",
                          "us", "-", "7.00", "us", "800", "ns", "90", "ns"});
  CHECK(table[3][0] == "(unset)");
}

TEST_CASE("blame: a quota is nobody else") {
  Contention some;
  some.row(some.acme, 1'100'000, LS_BLAME_QUOTA, kNoIndex, kRunnable);
  const auto table = table_of(some.profile, {.width = 0});
  using Words = std::vector<std::string>;
  CHECK(table[0] == Words{"tenant", "waited", "(quota)"});
  CHECK(blame_json_of(some.profile, "tenant")["values"][0]["because_of"][0]["by"] == "quota");
}

TEST_CASE("blame: a narrow terminal has the largest columns, and the sum of the others") {
  const auto table = table_of(all_kinds().profile, {.width = 60});
  using Words = std::vector<std::string>;
  CHECK(table[0] == Words{"tenant", "waited", "globex", "(timer)", "(8", "others)"});
  CHECK(table[1] == Words{"acme", "8.32", "ms", "7.00", "ms", "-", "1.32", "ms"});
}

TEST_CASE("blame: JSON has each part of each row, and they add up") {
  const Json json = blame_json_of(all_kinds().profile, "tenant");
  CHECK(json["blame"] == "tenant");
  CHECK(json["time_ns"] == 12'892'890);
  CHECK(json["values"].size() == 2);
  CHECK(json["without"]["time_ns"] == 5'000);
  CHECK(json["unreadable"]["because_of"].empty());
  const Json acme = json["values"][0];
  CHECK(acme["value"] == "acme");
  CHECK(acme["because_of"][0] ==
        Json{{"by", "value"}, {"value", "globex"}, {"time_ns", 7'000'000}, {"count", 1}});
  CHECK(acme["because_of"][2]["by"] == "without");
  CHECK(acme["because_of"][3]["by"] == "unreadable");
  const Json globex = json["values"][1];
  std::uint64_t sum = 0;
  for (const Json& part : globex["because_of"]) sum += part["time_ns"].get<std::uint64_t>();
  CHECK(globex["time_ns"] == sum);
  CHECK(globex["because_of"][2]["name"] == "na\x1bme");
  CHECK(globex["because_of"][4]["by"] == "still-waiting");
}

TEST_CASE("blame: an owner of a lock has the column of its label, and its time is shown") {
  Contention locks;
  locks.row(locks.acme, 6'000'000, LS_BLAME_OWNER, locks.by_globex);
  locks.row(locks.acme, 3'000'000, LS_BLAME_THREAD, locks.by_globex);
  locks.row(locks.acme, 1'000'000, LS_BLAME_TIMER);
  const Json json = blame_json_of(locks.profile, "tenant");
  CHECK(json["owner_ns"] == 6'000'000);
  const Json acme = json["values"][0];
  REQUIRE(acme["because_of"].size() == 2);
  CHECK(acme["because_of"][0] == Json{{"by", "value"},
                                      {"value", "globex"},
                                      {"time_ns", 9'000'000},
                                      {"count", 2},
                                      {"owner_ns", 6'000'000}});
  CHECK_FALSE(acme["because_of"][1].contains("owner_ns"));
  const auto table = table_of(locks.profile, {.width = 0});
  REQUIRE(table.size() == 4);
  CHECK(table[2][0] == "(6.00");
  CHECK(table[3][0] == "(3.00");
  // The two are different rows in a recording.
  merge_equal_blame(locks.profile.blame);
  CHECK(locks.profile.blame.size() == 3);
  std::stringstream file;
  REQUIRE(render_jsonl(locks.profile, {}, file));
  ReadBudget budget;
  auto read = read_jsonl(file, budget);
  REQUIRE(read);
  CHECK(blame_json_of(read->profile, "tenant") == json);
}

TEST_CASE("blame: processes can be told apart without a label") {
  Contention all = all_kinds();
  // It has no sample, and no name is known.
  all.profile.processes.push_back({Pid{7}, {}, {}, {}, {}});
  all.profile.blame[0].by.process = static_cast<Index>(all.profile.processes.size() - 1);
  const Json pids = blame_json_of(all.profile, "pid");
  REQUIRE(pids["values"].size() == 1);
  CHECK(pids["values"][0]["value"] == "100");
  CHECK(pids["values"][0]["because_of"][0]["value"] == "7");
  const Json names = blame_json_of(all.profile, "comm");
  CHECK(names["values"][0]["value"] == "shop");
  CHECK(names["values"][0]["because_of"][0]["by"] == "without");
  CHECK(is_key_of_blame("tenant"));
  CHECK(is_key_of_blame("pid"));
  CHECK_FALSE(is_key_of_blame("thread_id"));
  CHECK_FALSE(is_key_of_blame("function"));
  CHECK_FALSE(is_key_of_blame("state"));
}

TEST_CASE("blame: a recording keeps all of it, for any key") {
  const Contention all = all_kinds();
  std::stringstream file;
  REQUIRE(render_jsonl(all.profile, {}, file));
  ReadBudget budget;
  auto read = read_jsonl(file, budget);
  REQUIRE(read);
  CHECK(read->lost.empty());
  CHECK(read->profile.has_blame);
  CHECK(blame_json_of(read->profile, "tenant") == blame_json_of(all.profile, "tenant"));
  CHECK(blame_json_of(read->profile, "wait") == blame_json_of(all.profile, "wait"));
}

TEST_CASE("blame: hostile lines of a recording are damage, and no more") {
  const Contention all = all_kinds();
  std::ostringstream file;
  REQUIRE(render_jsonl(all.profile, {}, file));
  const std::string whole = file.str();
  const std::size_t ledger = whole.rfind("{\"type\":\"ledger\"");
  for (const char* line :
       {R"({"type":"blame","process":0,"labels":99,"time_ns":1,"by":"timer"})",
        R"({"type":"blame","process":0,"labels":0,"value":9,"time_ns":1,"by":"timer"})",
        R"({"type":"blame","process":0,"labels":0,"time_ns":-1,"by":"timer"})",
        R"({"type":"blame","process":0,"labels":0,"time_ns":1,"by":"thread","by_labels":77})",
        R"({"type":"blame","process":0,"labels":0,"time_ns":1,"by":3})"}) {
    INFO(line);
    std::istringstream in(whole.substr(0, ledger) + line + "\n" + whole.substr(ledger));
    ReadBudget budget;
    auto read = read_jsonl(in, budget);
    REQUIRE(read);
    CHECK(read->lost.size() == 1);
    CHECK(blame_json_of(read->profile, "tenant") == blame_json_of(all.profile, "tenant"));
  }
  // A later version may know kinds that this one does not.
  std::istringstream later(whole.substr(0, ledger) +
                           R"({"type":"blame","process":0,"labels":0,"time_ns":5,"by":"magic"})"
                           "\n" +
                           whole.substr(ledger));
  ReadBudget budget;
  auto read = read_jsonl(later, budget);
  REQUIRE(read);
  CHECK(read->profile.blame.back().by.kind == LS_BLAME_UNKNOWN);
}

TEST_CASE("blame: recordings are added up, if all of them have it") {
  Contention one = all_kinds();
  REQUIRE(merge(one.profile, all_kinds().profile));
  const Json both = blame_json_of(one.profile, "tenant");
  const Json single = blame_json_of(all_kinds().profile, "tenant");
  CHECK(both["time_ns"] == 2 * single["time_ns"].get<std::uint64_t>());
  CHECK(both["values"][0]["because_of"].size() == single["values"][0]["because_of"].size());
  Contention without;
  without.profile.has_blame = false;
  REQUIRE(merge(one.profile, without.profile));
  CHECK_FALSE(one.profile.has_blame);
  CHECK(one.profile.blame.empty());
  CHECK(why_no_blame(one.profile).find("one of the recordings") != std::string::npos);
}

TEST_CASE("blame: a selection is one of the threads that waited") {
  Contention all = all_kinds();
  Selection of_acme;
  of_acme.conditions = {*Condition::parse("tenant=acme"), *Condition::parse("state=waiting")};
  select_blame(all.profile, of_acme);
  REQUIRE(all.profile.blame.size() == 3);
  CHECK(time_of(all.profile, all.acme) == 7'320'000);

  Contention bare = all_kinds();
  Selection without;
  without.conditions = {*Condition::parse("tenant=<none>")};
  select_blame(bare.profile, without);
  CHECK(bare.profile.blame.size() == 1);

  for (const char* condition : {"thread_id=101", "function=main"}) {
    Contention thread = all_kinds();
    Selection of_thread;
    of_thread.conditions = {*Condition::parse(condition)};
    select_blame(thread.profile, of_thread);
    CHECK_FALSE(thread.profile.has_blame);
    CHECK(why_no_blame(thread.profile).find(condition) != std::string::npos);
  }
  Contention timed = all_kinds();
  Selection late;
  late.since = std::chrono::nanoseconds(1);
  select_blame(timed.profile, late);
  CHECK_FALSE(timed.profile.has_blame);
  CHECK(why_no_blame(timed.profile).find("--since") != std::string::npos);
}

TEST_CASE("blame: label rules are for both sides") {
  Contention all = all_kinds();
  const LabelRules no_tenant{.deny = {"tenant"}, .allow = {}, .hash = {}};
  static_cast<void>(apply_rules(no_tenant, all.profile));
  const Json json = blame_json_of(all.profile, "tenant");
  CHECK(json["values"].empty());
  CHECK(json["without"]["time_ns"] == 12'892'890);
  for (const Json& part : json["without"]["because_of"]) CHECK(part["by"] != "value");
}

TEST_CASE("blame: waits for work that tables leave out are in no row") {
  Contention all = all_kinds();
  const Index idle = all.labels({{"wait", "epoll_wait"}});
  BlameRow& row = all.row(idle, 1'000'000'000, LS_BLAME_INTERRUPT);
  row.outcome = LS_UNLABELLED;
  SampleRow& sample = all.sample(0, kNoIndex, idle, LS_UNLABELLED);
  sample.weight_ns = 1'000'000'000;
  all.profile.ledger.outcomes[LS_LABELLED] = 1;
  IdleTime time;
  const auto dropped = without_idle(all.profile, IdleMode::kDrop, time);
  REQUIRE(dropped);
  CHECK(blame_json_of(*dropped, "tenant")["time_ns"] == 12'892'890);
  const auto folded = without_idle(all.profile, IdleMode::kFold, time);
  REQUIRE(folded);
  const auto table = table_of(*folded, {.width = 0});
  CHECK(table[1][0] == "acme");
  CHECK(table[3][0] == "(unset)");
  CHECK(table.at(4)[0] == "(idle)");
  const Json waits = blame_json_of(*folded, "wait");
  CHECK(waits["values"][0]["value"] == "idle");
  CHECK(waits["time_ns"] == 1'012'892'890);
}

TEST_CASE("blame: waits in a futex whose owner is not known are said to be by the last waker") {
  Contention all = all_kinds();
  CHECK(blame_matrix(all.profile, "tenant").futex_by_waker_ns == 7'320'000);
  std::ostringstream out;
  REQUIRE(render_blame(all.profile, {"tenant"}, {}, out));
  CHECK(out.str().find("(7.32 ms in a futex, because of its last waker)") != std::string::npos);
}
