#include "cli/profile/fit_waits.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

namespace labelscope::cli {
namespace {

// What samples and totals have in common.
struct Group {
  std::int32_t pid = 0;
  Index label_set = kNoIndex;
  std::uint32_t outcome_and_value = 0;
  bool operator==(const Group&) const = default;
};

struct HashOfGroup {
  std::size_t operator()(const Group& group) const { return XXH3_64bits(&group, sizeof group); }
};

struct Fit {
  std::uint64_t time_ns = 0;    // that the samples should have
  std::uint64_t weight_ns = 0;  // that they have
  std::uint64_t given_ns = 0;   // so much of time_ns has been given to samples
  Index heaviest = kNoIndex;    // the row that gets what is left
};

class Fitting {
 public:
  Fitting(Profile& profile, const UnknownWaits& unknown) : profile_(profile) {
    for (std::size_t value = 0; value < profile.values.size(); ++value) {
      waits_.push_back(is_wait(profile.values[value]));
      rest_.push_back({.time_ns = unknown[value]});
    }
    for (const WaitRow& total : profile.waits) {
      Fit& fit = fits_[group_of(total.pid, total.label_set, total.outcome, total.value)];
      fit.time_ns += total.time_ns;
    }
  }

  std::uint64_t run() {
    const std::size_t sampled = profile_.rows.size();
    for (std::size_t i = 0; i < sampled; ++i) note(static_cast<Index>(i));
    for (std::size_t i = 0; i < sampled; ++i) give(static_cast<Index>(i));
    for (auto& [group, fit] : fits_) end(fit);
    for (Fit& fit : rest_) end(fit);
    for (const WaitRow& total : profile_.waits) add_unsampled(total);
    std::uint64_t without_sample = 0;
    for (const Fit& fit : rest_) without_sample += fit.heaviest == kNoIndex ? fit.time_ns : 0;
    return without_sample;
  }

 private:
  static Group group_of(Pid pid, Index label_set, std::uint8_t outcome, std::uint8_t value) {
    return {raw(pid), label_set, static_cast<std::uint32_t>(outcome << 8 | value)};
  }
  // Null if the row is of no wait.
  Fit* fit_of(const SampleRow& row) {
    if (!waits_[row.value]) return nullptr;
    const Pid pid = row.thread == kNoIndex ? Pid{} : profile_.threads[row.thread].pid;
    const auto known = fits_.find(group_of(pid, row.label_set, row.outcome, row.value));
    if (known != fits_.end()) return &known->second;
    // An open wait may be the only one of its labels.
    return (row.flags & LS_STILL_WAITING) != 0
               ? &fits_[group_of(pid, row.label_set, row.outcome, row.value)]
               : &rest_[row.value];
  }
  void note(Index index) {
    const SampleRow& row = profile_.rows[index];
    Fit* fit = fit_of(row);
    if (fit == nullptr) return;
    if ((row.flags & LS_STILL_WAITING) != 0) fit->time_ns += row.weight_ns;
    fit->weight_ns += row.weight_ns;
    if (fit->heaviest == kNoIndex || row.weight_ns > profile_.rows[fit->heaviest].weight_ns) {
      fit->heaviest = index;
    }
  }
  void give(Index index) {
    SampleRow& row = profile_.rows[index];
    Fit* fit = fit_of(row);
    if (fit == nullptr || index == fit->heaviest) return;
    const double part = static_cast<double>(row.weight_ns) / static_cast<double>(fit->weight_ns);
    row.weight_ns =
        fit->weight_ns == 0
            ? 0
            : std::min(static_cast<std::uint64_t>(part * static_cast<double>(fit->time_ns)),
                       fit->time_ns - fit->given_ns);
    fit->given_ns += row.weight_ns;
  }
  void end(const Fit& fit) {
    if (fit.heaviest != kNoIndex) {
      profile_.rows[fit.heaviest].weight_ns = fit.time_ns - fit.given_ns;
    }
  }
  // The threads of a total are not known, so its row has one that stands for all of the process.
  void add_unsampled(const WaitRow& total) {
    Fit& fit = fits_[group_of(total.pid, total.label_set, total.outcome, total.value)];
    if (fit.heaviest != kNoIndex || fit.time_ns == 0) return;
    const auto next = static_cast<Index>(profile_.threads.size());
    const auto [thread, fresh] = threads_.try_emplace(raw(total.pid), next);
    if (fresh) profile_.threads.push_back({total.pid, Tid{0}, {}, kNoIndex});
    SampleRow row;
    row.weight_ns = fit.time_ns;
    row.count = 0;
    row.thread = thread->second;
    row.label_set = total.label_set;
    row.outcome = total.outcome;
    row.value = total.value;
    fit.heaviest = static_cast<Index>(profile_.rows.size());
    profile_.rows.push_back(row);
  }

  Profile& profile_;
  std::vector<bool> waits_;  // by value type
  std::vector<Fit> rest_;    // samples that belong to no total, by value type
  std::unordered_map<Group, Fit, HashOfGroup> fits_;
  std::map<std::int32_t, Index> threads_;  // those without a number, by process
};

}  // namespace

std::uint64_t fit_waits(Profile& profile, const UnknownWaits& unknown) {
  return Fitting(profile, unknown).run();
}

}  // namespace labelscope::cli
