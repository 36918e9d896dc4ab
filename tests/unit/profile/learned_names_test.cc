// A number that some processes of a server have a name for has that name in the others.
#include "cli/profile/learned_names.h"

#include <string>
#include <vector>

#include "cli/profile/blame.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

constexpr ProcessKey kServer{Pid{100}, 1}, kOtherServer{Pid{200}, 2}, kLaterServer{Pid{100}, 3};
const NameOfNumber kPairs[] = {{"db_oid", "db"}, {"user_oid", "user"}};

// Each process has one thread and one sample.
class Recorded {
 public:
  void add(int pid, ProcessKey server, LabelSet labels) {
    Process process;
    process.pid = Pid{pid};
    process.server = server;
    profile.processes.push_back(process);
    Thread thread;
    thread.process = static_cast<Index>(profile.processes.size() - 1);
    SampleRow row;
    row.thread = static_cast<Index>(profile.threads.size());
    row.label_set = static_cast<Index>(profile.label_sets.size());
    profile.threads.push_back(thread);
    profile.label_sets.push_back(std::move(labels));
    profile.rows.push_back(row);
  }
  const LabelSet& labels_of(std::size_t row) const {
    return profile.label_sets[profile.rows[row].label_set];
  }
  Profile profile;
};

}  // namespace

TEST_CASE("learned names: a worker has the names that a session has for its numbers") {
  Recorded all;
  all.add(101, kServer, {{"db_oid", "5", 1}});
  all.add(102, kServer,
          {{"db", "shop", 1}, {"db_oid", "5", 1}, {"user", "ada", 1}, {"user_oid", "7", 1}});
  all.add(103, kServer, {{"db_oid", "6", 1}, {"user_oid", "7", 1}});
  learn_names(kPairs, all.profile);
  CHECK(all.labels_of(0) == LabelSet{{"db", "shop", 1}, {"db_oid", "5", 1}});
  CHECK(all.labels_of(2) == LabelSet{{"db_oid", "6", 1}, {"user", "ada", 1}, {"user_oid", "7", 1}});
  CHECK(all.profile.ledger.counters[Counter::kLabelsLearned] == 2);
}

TEST_CASE("learned names: who waits has them where it is blamed on others, and so have these") {
  Recorded all;
  all.add(101, kServer, {{"db_oid", "5", 0}});
  all.add(102, kServer, {{"db", "shop", 0}, {"db_oid", "5", 0}});
  WaitRow total;
  total.process = 0;
  total.label_set = 0;
  total.time_ns = 70;
  all.profile.waits.push_back(total);
  BlameRow blame{total, 70, 1, {}};
  blame.by.kind = LS_BLAME_THREAD;
  blame.by.process = 0;
  blame.by.label_set = 0;
  all.profile.blame.push_back(blame);
  learn_names(kPairs, all.profile);
  REQUIRE(all.profile.blame.size() == 1);
  const BlameRow& now = all.profile.blame[0];
  CHECK(static_cast<const WaitGroup&>(now) == static_cast<const WaitGroup&>(all.profile.waits[0]));
  const LabelSet expected{{"db", "shop", 0}, {"db_oid", "5", 0}};
  CHECK(all.profile.label_sets[now.label_set] == expected);
  CHECK(all.profile.label_sets[now.by.label_set] == expected);
}

TEST_CASE("learned names: numbers of another server mean nothing") {
  Recorded all;
  all.add(101, kServer, {{"db_oid", "5", 0}});
  all.add(201, kOtherServer, {{"db", "bank", 0}, {"db_oid", "5", 0}});
  learn_names(kPairs, all.profile);
  all.add(201, kLaterServer, {{"db", "bank", 0}, {"db_oid", "5", 0}});
  learn_names(kPairs, all.profile);
  CHECK(all.labels_of(0) == LabelSet{{"db_oid", "5", 0}});
  CHECK(all.profile.ledger.counters[Counter::kLabelsLearned] == 0);
}

TEST_CASE("learned names: a number with two names has none") {
  Recorded all;
  all.add(101, kServer, {{"db_oid", "5", 0}});
  all.add(102, kServer, {{"db", "shop", 0}, {"db_oid", "5", 0}});
  all.add(103, kServer, {{"db", "renamed", 0}, {"db_oid", "5", 0}});
  learn_names(kPairs, all.profile);
  CHECK(all.labels_of(0) == LabelSet{{"db_oid", "5", 0}});
}

TEST_CASE("learned names: a wait has them, too, and equal rows are one") {
  Recorded all;
  all.add(101, kServer, {{"db_oid", "5", 0}});
  all.add(102, kServer, {{"db", "shop", 0}, {"db_oid", "5", 0}});
  all.profile.rows.push_back(all.profile.rows[0]);
  all.profile.rows.back().label_set = 1;
  WaitRow wait;
  wait.process = 0;
  wait.label_set = 0;
  all.profile.waits.push_back(wait);
  learn_names(kPairs, all.profile);
  CHECK(all.profile.rows.size() == 2);
  CHECK(all.profile.rows[0].count == 2);
  CHECK(all.profile.waits[0].label_set == all.profile.rows[1].label_set);
}

// With so many pairs of label sets that blame is by its keys alone, a worker still has its number.
TEST_CASE("learned names: blame by a name is by the number, too") {
  using Keys = std::vector<std::string>;
  CHECK(with_numbers({"db"}, kPairs) == Keys{"db", "db_oid"});
  CHECK(with_numbers({"user", "db_oid", "db"}, kPairs) ==
        Keys{"user", "db_oid", "db", "user_oid"});
  CHECK(with_numbers({"tenant"}, kPairs) == Keys{"tenant"});
  Recorded all;
  all.add(101, kServer, {{"db_oid", "5", 0}, {"query_id", "1", 0}});
  all.add(102, kServer, {{"db", "shop", 0}, {"db_oid", "5", 0}, {"query_id", "2", 0}});
  WaitRow total;
  total.process = 0;
  total.label_set = 0;
  total.time_ns = 70;
  all.profile.waits.push_back(total);
  all.profile.blame.push_back({total, 70, 1, {}});
  all.profile.blame_keys = with_numbers({"db"}, kPairs);
  complete_blame(all.profile);
  learn_names(kPairs, all.profile);
  REQUIRE(all.profile.blame.size() == 1);
  CHECK(all.profile.label_sets[all.profile.blame[0].label_set] ==
        LabelSet{{"db", "shop", 0}, {"db_oid", "5", 0}});
}
