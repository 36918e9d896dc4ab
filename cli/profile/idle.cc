#include "cli/profile/idle.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

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
  const auto wait = std::ranges::find(labels, kWaitKey, &Label::key);
  return wait != labels.end() &&
         std::ranges::find(kWaitsForWork, std::string_view(wait->value)) != std::end(kWaitsForWork);
}

// Finds the number of each label set once it is folded; kNoIndex for a set that is not idle.
std::vector<Index> fold_sets(Profile& profile) {
  std::vector<Index> folded(profile.label_sets.size(), kNoIndex);
  const std::size_t before = profile.label_sets.size();
  for (std::size_t i = 0; i < before; ++i) {
    if (!waits_for_work(profile.label_sets[i])) continue;
    LabelSet labels = profile.label_sets[i];
    std::ranges::find(labels, kWaitKey, &Label::key)->value = kIdle;
    const auto known = std::find(profile.label_sets.begin() + static_cast<std::ptrdiff_t>(before),
                                 profile.label_sets.end(), labels);
    folded[i] = static_cast<Index>(known - profile.label_sets.begin());
    if (known == profile.label_sets.end()) profile.label_sets.push_back(std::move(labels));
  }
  return folded;
}

bool is_idle(const Profile& profile, const SampleRow& row) {
  const TimeKind* kind = time_kind(profile.values[row.value]);
  return kind != nullptr && kind->kind == LS_WAITING && row.outcome == LS_UNLABELLED &&
         row.label_set != kNoIndex && waits_for_work(profile.label_sets[row.label_set]);
}

void leave_out(Ledger& ledger, const IdleTime& idle) {
  ledger.time.attributed_ns -= std::min(ledger.time.attributed_ns, idle.ns);
  for (std::uint64_t* number : {&ledger.taken, &ledger.written, &ledger.outcomes[LS_UNLABELLED]}) {
    *number -= std::min(*number, idle.count);
  }
}

}  // namespace

std::optional<Profile> without_idle(const Profile& profile, IdleMode mode, IdleTime& idle) {
  if (mode == IdleMode::kShow || profile.ledger.outcomes[LS_LABELLED] == 0) return std::nullopt;
  for (const SampleRow& row : profile.rows) {
    if (!is_idle(profile, row)) continue;
    idle.count += row.count;
    idle.ns += row.weight_ns;
  }
  if (idle.count == 0) return std::nullopt;
  Profile shown = profile;
  if (mode == IdleMode::kDrop) {
    std::erase_if(shown.rows, [&](const SampleRow& row) {
      if (!is_idle(profile, row)) return false;
      if (row.stack != kNoIndex) {
        shown.ledger.counters[stack_counter(profile.stacks[row.stack].end)] -= row.count;
      }
      return true;
    });
    leave_out(shown.ledger, idle);
    return shown;
  }
  const std::vector<Index> folded = fold_sets(shown);
  for (SampleRow& row : shown.rows) {
    if (!is_idle(profile, row)) continue;
    row.label_set = folded[row.label_set];
    row.stack = kNoIndex;
  }
  merge_equal_rows(shown.rows);
  return shown;
}

}  // namespace labelscope::cli
