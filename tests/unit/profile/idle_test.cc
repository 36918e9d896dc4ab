// Waits for work differ from others by the labels that they do not have.
#include "cli/profile/idle.h"

#include "cli/profile/wait_reason.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

// A profile of waits. Each row has a label set of its own and a stack.
class Waits {
 public:
  Waits() { profile.values = {value_of_kind(LS_RUNNABLE), value_of_kind(LS_WAITING)}; }
  void add(ls_outcome outcome, const std::string& call, std::uint64_t ns, ls_sample_kind kind,
           LabelSet labels = {}) {
    labels.push_back({std::string(kWaitKey), call, 0});
    profile.stacks.emplace_back().end = LS_STACK_ROOT;
    SampleRow row;
    row.weight_ns = ns;
    row.label_set = static_cast<Index>(profile.label_sets.size());
    row.stack = static_cast<Index>(profile.stacks.size() - 1);
    row.outcome = outcome;
    row.value = kind == LS_WAITING ? 1 : 0;
    profile.label_sets.push_back(std::move(labels));
    profile.rows.push_back(row);
    ++profile.ledger.taken;
    ++profile.ledger.written;
    ++profile.ledger.outcomes[outcome];
    profile.ledger.time.attributed_ns += ns;
  }
  Profile profile;
};

std::uint64_t time_of(const Profile& profile) {
  std::uint64_t sum = 0;
  for (const SampleRow& row : profile.rows) sum += row.weight_ns;
  return sum;
}

std::string wait_of(const Profile& profile, const SampleRow& row) {
  for (const Label& label : profile.label_sets[row.label_set]) {
    if (label.key == kWaitKey) return label.value;
  }
  return {};
}

Waits a_service() {
  Waits waits;
  waits.add(LS_UNLABELLED, "epoll_wait", 1000, LS_WAITING);
  waits.add(LS_UNLABELLED, "futex", 500, LS_WAITING);
  waits.add(LS_LABELLED, "epoll_wait", 70, LS_WAITING, {{"tenant", "acme", 0}});
  waits.add(LS_UNLABELLED, "read", 11, LS_WAITING);
  waits.add(LS_UNLABELLED, "epoll_wait", 3, LS_RUNNABLE);
  waits.add(LS_UNREADABLE_NOT_RESIDENT, "futex", 2, LS_WAITING);
  return waits;
}

}  // namespace

TEST_CASE("idle: waits for work are one line, and their time stays") {
  const Waits waits = a_service();
  IdleTime idle;
  const auto shown = without_idle(waits.profile, IdleMode::kFold, idle);
  REQUIRE(shown);
  CHECK(idle.count == 2);
  CHECK(idle.ns == 1500);
  REQUIRE(shown->rows.size() == 5);
  CHECK(wait_of(*shown, shown->rows[0]) == "idle");
  CHECK(shown->rows[0].weight_ns == 1500);
  CHECK(shown->rows[0].stack == kNoIndex);
  CHECK(time_of(*shown) == waits.profile.ledger.time.attributed_ns);
  // Label sets of requests have no folded form, which no row would have.
  CHECK(shown->label_sets.size() == waits.profile.label_sets.size() + 1);
  // A request that waits, waiting for a processor, and what could not be read are not idle.
  for (std::size_t i = 1; i < shown->rows.size(); ++i) {
    CHECK(wait_of(*shown, shown->rows[i]) != "idle");
    CHECK(shown->rows[i].stack != kNoIndex);
  }
}

TEST_CASE("idle: what is left out is not in the ledger either") {
  Waits waits = a_service();
  waits.profile.ledger.counters[stack_counter(LS_STACK_ROOT)] = 6;
  IdleTime idle;
  const auto shown = without_idle(waits.profile, IdleMode::kDrop, idle);
  REQUIRE(shown);
  CHECK(shown->rows.size() == 4);
  CHECK(shown->ledger.time.attributed_ns == time_of(*shown));
  CHECK(shown->ledger.taken == 4);
  CHECK(shown->ledger.written == 4);
  CHECK(shown->ledger.outcomes[LS_UNLABELLED] == 2);
  CHECK(shown->ledger.counters[stack_counter(LS_STACK_ROOT)] == 4);
}

TEST_CASE("idle: labels of the process stay, and other values of them are other lines") {
  Waits waits;
  waits.add(LS_LABELLED, "read", 1, LS_WAITING, {{"tenant", "acme", 0}});
  waits.add(LS_UNLABELLED, "poll", 10, LS_WAITING, {{"unit", "a", 1}});
  waits.add(LS_UNLABELLED, "futex", 20, LS_WAITING, {{"unit", "a", 1}});
  waits.add(LS_UNLABELLED, "poll", 40, LS_WAITING, {{"unit", "b", 1}});
  IdleTime idle;
  const auto shown = without_idle(waits.profile, IdleMode::kFold, idle);
  REQUIRE(shown);
  REQUIRE(shown->rows.size() == 3);
  CHECK(shown->rows[1].weight_ns == 30);
  CHECK(shown->label_sets[shown->rows[1].label_set][0] == Label{"unit", "a", 1});
  CHECK(shown->rows[2].weight_ns == 40);
}

TEST_CASE("idle: nothing is idle without labels, on a processor, or where it is to be shown") {
  IdleTime idle;
  Waits unlabelled;
  unlabelled.add(LS_UNLABELLED, "epoll_wait", 1000, LS_WAITING);
  CHECK_FALSE(without_idle(unlabelled.profile, IdleMode::kFold, idle));
  CHECK_FALSE(without_idle(a_service().profile, IdleMode::kShow, idle));
  Waits computes;
  computes.profile.values = {value_of_kind(LS_ON_CPU)};
  computes.add(LS_LABELLED, "", 5, LS_RUNNABLE, {{"tenant", "acme", 0}});
  CHECK_FALSE(without_idle(computes.profile, IdleMode::kDrop, idle));
}

TEST_CASE("idle: a total that no sample has shows that there are labels") {
  Waits waits;
  waits.add(LS_UNLABELLED, "epoll_wait", 1000, LS_WAITING);
  waits.add(LS_LABELLED, "write", 7, LS_WAITING, {{"command", "set", 0}});
  waits.profile.rows.back().count = 0;
  waits.profile.ledger.outcomes[LS_LABELLED] = 0;
  IdleTime idle;
  REQUIRE(without_idle(waits.profile, IdleMode::kFold, idle));
  CHECK(idle.ns == 1000);
}
