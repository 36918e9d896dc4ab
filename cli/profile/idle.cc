#include "cli/profile/idle.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/profile/blame.h"
#include "cli/profile/index_table.h"
#include "cli/profile/merge.h"
#include "cli/profile/wait_reason.h"

namespace labelscope::cli {
namespace {

constexpr std::string_view kIdle = "idle";

// System calls in which a thread waits until there is something to do.
constexpr std::string_view kWaitsForWork[] = {
    "accept",          "accept4",        "clock_nanosleep", "epoll_pwait", "epoll_pwait2",
    "epoll_wait",      "futex",          "futex_wait",      "futex_waitv", "io_getevents",
    "io_pgetevents",   "io_uring_enter", "mq_timedreceive", "msgrcv",      "nanosleep",
    "pause",           "poll",           "ppoll",           "pselect6",    "rt_sigsuspend",
    "rt_sigtimedwait", "select",         "semop",           "semtimedop",  "wait4",
    "waitid"};

bool waits_for_work(const LabelSet& labels) {
  return std::ranges::find(kWaitsForWork, reason_of(labels)) != std::end(kWaitsForWork);
}

// Gives label sets their folded form when a row wants it, each once.
class FoldedSets {
 public:
  explicit FoldedSets(std::vector<LabelSet>& sets) : sets_(sets), folded_(sets.size(), kNoIndex) {}

  Index fold(Index set) {
    if (folded_[set] != kNoIndex) return folded_[set];
    LabelSet labels = sets_[set];
    std::ranges::find(labels, kWaitKey, &Label::key)->value = kIdle;
    const auto next = static_cast<Index>(sets_.size());
    folded_[set] = known_.find_or_insert(labels, sets_);
    if (folded_[set] == next) sets_.push_back(std::move(labels));
    return folded_[set];
  }

 private:
  std::vector<LabelSet>& sets_;
  std::vector<Index> folded_;  // by the number of a set before; kNoIndex: not wanted yet
  IndexTable known_;
};

void leave_out(Ledger& ledger, const IdleTime& idle) {
  ledger.time.attributed_ns -= std::min(ledger.time.attributed_ns, idle.ns);
  for (std::uint64_t* number : {&ledger.taken, &ledger.written, &ledger.outcomes[LS_UNLABELLED]}) {
    *number -= std::min(*number, idle.count);
  }
}

}  // namespace

IdleRows::IdleRows(const Profile& profile, What what) : profile_(profile) {
  is_idle_.reserve(profile.label_sets.size());
  for (const LabelSet& labels : profile.label_sets) {
    is_idle_.push_back(what == What::kFolded ? reason_of(labels) == kIdle : waits_for_work(labels));
  }
}

std::optional<Profile> without_idle(const Profile& profile, IdleMode mode, IdleTime& idle) {
  // Of waits, the totals show labels that no sample has.
  const bool has_labels =
      profile.ledger.outcomes[LS_LABELLED] != 0 ||
      std::ranges::any_of(profile.rows, [](const SampleRow& row) {
        return row.outcome == LS_LABELLED && (row.count != 0 || row.weight_ns != 0);
      });
  if (mode == IdleMode::kShow || !has_labels) return std::nullopt;
  const IdleRows rows(profile, IdleRows::What::kWaitsForWork);
  for (const SampleRow& row : profile.rows) {
    if (!rows.contains(row)) continue;
    idle.count += row.count;
    idle.ns += row.weight_ns;
  }
  if (idle.count == 0 && idle.ns == 0) return std::nullopt;  // some waits have no sample
  Profile shown = profile;
  if (mode == IdleMode::kDrop) {
    std::erase_if(shown.rows, [&](const SampleRow& row) {
      if (!rows.contains(row)) return false;
      if (row.stack != kNoIndex) {
        shown.ledger.counters[stack_counter(profile.stacks[row.stack].end)] -= row.count;
      }
      return true;
    });
    std::erase_if(shown.waits, [&](const WaitRow& row) { return rows.contains(row); });
    std::erase_if(shown.blame, [&](const BlameRow& row) { return rows.contains(row); });
    leave_out(shown.ledger, idle);
    return shown;
  }
  FoldedSets sets(shown.label_sets);
  for (SampleRow& row : shown.rows) {
    if (!rows.contains(row)) continue;
    row.label_set = sets.fold(row.label_set);
    row.stack = kNoIndex;
  }
  for (WaitRow& row : shown.waits) {
    if (rows.contains(row)) row.label_set = sets.fold(row.label_set);
  }
  for (BlameRow& row : shown.blame) {
    if (rows.contains(row)) row.label_set = sets.fold(row.label_set);
  }
  merge_equal_rows(shown.rows);
  merge_equal_waits(shown.waits);
  merge_equal_blame(shown.blame);
  return shown;
}

}  // namespace labelscope::cli
