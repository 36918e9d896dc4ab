#include "cli/profile/fit_waits.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cli/profile/index_table.h"
#include "cli/profile/wait_reason.h"

namespace labelscope::cli {
namespace {

struct Fit {
  std::uint64_t time_ns = 0;    // that the samples should have
  std::uint64_t weight_ns = 0;  // that they have
  std::uint64_t given_ns = 0;   // so much of time_ns has been given to samples
  Index heaviest = kNoIndex;    // the row that gets what is left
  bool is_total = false;        // Profile::waits has it
};

// What totals and samples have in common whose labels were read alike, and decoded otherwise.
using Kin = std::tuple<Index, std::uint8_t, std::string_view>;  // process, value type, reason

class Fitting {
 public:
  Fitting(Profile& profile, const UnknownWaits& unknown, std::span<const Index> without_lost)
      : profile_(profile), without_lost_(without_lost) {
    for (const ValueType& value : profile.values) waits_.push_back(is_wait(value));
    for (const WaitRow& total : profile.waits) {
      fits_[total].time_ns += total.time_ns;
      fits_[total].is_total = true;
    }
    for (std::size_t value = 0; value < profile.values.size(); ++value) {
      const auto kind = static_cast<std::uint8_t>(value);
      const Claims others = claims_of_others(kind);
      const bool is_of_any = others.weight == 0;
      std::uint64_t left_ns = is_of_any ? 0 : spread(kind, unknown.of_others[value], others);
      const std::uint64_t of_others = is_of_any ? unknown.of_others[value] : 0;
      left_ns += spread(kind, unknown.of_any[value] + of_others, claims_of_all(kind));
      unknown_.push_back({.time_ns = left_ns});
    }
  }

  std::uint64_t run() {
    lend();
    const std::size_t sampled = profile_.rows.size();
    for (std::size_t i = 0; i < sampled; ++i) note(static_cast<Index>(i));
    for (std::size_t i = 0; i < sampled; ++i) give(static_cast<Index>(i));
    for (auto& [group, fit] : fits_) end(fit);
    for (Fit& fit : unknown_) end(fit);
    for (const WaitRow& total : profile_.waits) add_unsampled(total);
    settle_totals(sampled);
    std::uint64_t without_sample = 0;
    for (const Fit& fit : unknown_) without_sample += fit.heaviest == kNoIndex ? fit.time_ns : 0;
    return without_sample;
  }

 private:
  bool is_fitted(const SampleRow& row) const {
    return waits_[row.value] && (row.flags & LS_STILL_WAITING) == 0;
  }
  WaitGroup group_of(const SampleRow& row) const {
    const Index process =
        row.thread == kNoIndex ? kNoIndex : profile_.threads[row.thread].process;
    return {process, row.label_set, row.outcome, row.value};
  }
  // The samples and totals of a kind that unknown time may be of.
  struct Claims {
    std::unordered_map<WaitGroup, double, HashOfWaitGroup> weights;  // of samples of totals
    double without_total = 0;
    double weight = 0;     // all of it
    bool of_all = false;  // totals without a sample, too
  };
  Claims claims_of_all(std::uint8_t value) {
    Claims all;
    all.of_all = true;
    for (const SampleRow& row : profile_.rows) {
      if (row.value != value || !is_fitted(row)) continue;
      const WaitGroup* group = group_with_total(row);
      (group != nullptr ? all.weights[*group] : all.without_total) += weight_of(row);
      all.weight += weight_of(row);
    }
    return all;
  }
  // Samples that have no total of all their labels, and the totals that they belong to anyway.
  Claims claims_of_others(std::uint8_t value) {
    Claims others;
    for (const SampleRow& row : profile_.rows) {
      if (row.value != value || !is_fitted(row) || fits_.contains(group_of(row))) continue;
      if (const WaitGroup* group = group_with_total(row)) {
        others.weights[*group] += weight_of(row);
      } else {
        others.without_total += weight_of(row);
      }
      others.weight += weight_of(row);
    }
    for (const SampleRow& row : profile_.rows) {
      if (row.value != value || !is_fitted(row)) continue;
      const auto total = others.weights.find(group_of(row));
      if (total == others.weights.end()) continue;
      total->second += weight_of(row);
      others.weight += weight_of(row);
    }
    return others;
  }
  static double weight_of(const SampleRow& row) { return static_cast<double>(row.weight_ns); }

  // Divides the unknown time of a kind. Samples show whose record was lost: they weigh more than
  // their totals have, or have none. Adds to totals what is theirs, and returns what is left for
  // samples of no total.
  std::uint64_t spread(std::uint8_t value, const std::uint64_t unknown_ns, const Claims& claims) {
    if (unknown_ns == 0 || !waits_[value]) return unknown_ns;
    const auto& weights = claims.weights;
    const auto time = [&](const WaitRow& total) {
      const bool may_have = total.value == value && (claims.of_all || weights.contains(total));
      return may_have ? total.time_ns : std::uint64_t{0};
    };
    double whole = static_cast<double>(unknown_ns);
    for (const WaitRow& total : profile_.waits) whole += static_cast<double>(time(total));
    const double scale = claims.weight == 0 ? 0 : whole / claims.weight;
    // A total that has what its samples weigh lacks nothing that anybody knows of: the weight of a
    // wait that is long enough is its length. Where samples were dropped, all of them may weigh
    // less than their totals.
    const auto has_less = [&](const WaitRow& total) {
      const auto found = weights.find(total);
      return found != weights.end() && found->second > static_cast<double>(total.time_ns);
    };
    const bool is_any_less = std::ranges::any_of(profile_.waits, has_less);
    const auto missing = [&](const WaitRow& total) {
      const auto found = weights.find(total);
      if (total.value != value || found == weights.end()) return std::uint64_t{0};
      if (is_any_less && !has_less(total)) return std::uint64_t{0};
      const double more = found->second * scale - static_cast<double>(total.time_ns);
      return static_cast<std::uint64_t>(std::max(0.0, more));
    };
    const auto sum = [&](const auto& part) {
      std::uint64_t all = 0;
      for (const WaitRow& total : profile_.waits) all += part(total);
      return all;
    };
    const auto add = [&](std::uint64_t more_ns, const auto& part) {
      std::uint64_t of = sum(part);
      for (WaitRow& total : profile_.waits) {
        const std::uint64_t one = part(total);
        if (one == 0) continue;
        const std::uint64_t its = part_of(more_ns, one, of);
        of -= one;
        more_ns -= its;
        fits_[total].time_ns += its;
        total.time_ns += its;
      }
    };
    const std::uint64_t orphans_ns =
        std::min(unknown_ns, static_cast<std::uint64_t>(claims.without_total * scale));
    const std::uint64_t rest_ns = unknown_ns - orphans_ns;
    if (sum(missing) != 0) {
      add(rest_ns, missing);
    } else if (sum(time) != 0) {
      add(rest_ns, time);
    } else {
      return unknown_ns;
    }
    return orphans_ns;
  }
  // Returns the group whose total has the sample's time, or nothing if there is none.
  const WaitGroup* group_with_total(const SampleRow& row) {
    found_ = group_of(row);
    if (fits_.contains(found_)) return &found_;
    if (row.label_set >= without_lost_.size()) return nullptr;
    found_.label_set = without_lost_[row.label_set];
    return found_.label_set != kNoIndex && fits_.contains(found_) ? &found_ : nullptr;
  }
  Kin kin_of(const WaitGroup& group) const {
    std::string_view reason;
    if (group.label_set != kNoIndex) reason = reason_of(profile_.label_sets[group.label_set]);
    return {group.process, group.value, reason};
  }
  // Samples belong to no total if the totals have their labels by another meaning: that of a key
  // which was published later, of a process which has become another program, or of a wait that
  // began before the plan of its process was made. These borrow from totals of their kin which have
  // more time than their own samples: there it is missing. What was unreadable for the sample alone
  // is in a total.
  void lend() {
    std::unordered_map<WaitGroup, std::uint64_t, HashOfWaitGroup> weights;  // of samples of totals
    std::unordered_map<WaitGroup, std::uint64_t, HashOfWaitGroup> orphans;  // weights of the others
    std::map<Kin, std::uint64_t> wanted;
    for (const SampleRow& row : profile_.rows) {
      if (!is_fitted(row)) continue;
      if (const WaitGroup* group = group_with_total(row)) {
        weights[*group] += row.weight_ns;
      } else if (unknown_[row.value].time_ns == 0 && !is_unreadable(row.outcome)) {
        const WaitGroup orphan = group_of(row);
        orphans[orphan] += row.weight_ns;
        wanted[kin_of(orphan)] += row.weight_ns;
      }
    }
    if (wanted.empty()) return;
    const auto surplus = [&](const WaitRow& total) {
      const auto known = weights.find(total);
      const std::uint64_t sampled = known == weights.end() ? 0 : known->second;
      return total.time_ns - std::min(total.time_ns, sampled);
    };
    std::map<Kin, std::uint64_t> there;
    for (const WaitRow& total : profile_.waits) there[kin_of(total)] += surplus(total);
    std::map<Kin, std::uint64_t> lent;
    for (const WaitRow& total : profile_.waits) {
      const Kin kin = kin_of(total);
      const auto asked = wanted.find(kin);
      if (asked == wanted.end()) continue;
      const std::uint64_t part = part_of(surplus(total), asked->second, there[kin]);
      fits_[total].time_ns -= part;
      lent[kin] += part;
    }
    for (const auto& [group, weight_ns] : orphans) {
      const Kin kin = kin_of(group);
      const std::uint64_t part = part_of(lent[kin], weight_ns, wanted[kin]);
      fits_[group].time_ns = part;
      lent[kin] -= part;
      wanted[kin] -= weight_ns;
    }
  }
  // Returns `whole` * `part` / `of`, and no more than `whole`.
  static std::uint64_t part_of(std::uint64_t whole, std::uint64_t part, std::uint64_t of) {
    if (part >= of) return whole;
    const double share = static_cast<double>(part) / static_cast<double>(of);
    return std::min(whole, static_cast<std::uint64_t>(share * static_cast<double>(whole)));
  }
  // Null if the row is of no wait, or of an open one, whose weight is exact.
  Fit* fit_of(const SampleRow& row) {
    if (!is_fitted(row)) return nullptr;
    const WaitGroup* group = group_with_total(row);
    return group != nullptr ? &fits_.at(*group) : &unknown_[row.value];
  }
  void note(Index index) {
    const SampleRow& row = profile_.rows[index];
    Fit* fit = fit_of(row);
    if (fit == nullptr) return;
    fit->weight_ns += row.weight_ns;
    if (fit->heaviest == kNoIndex || row.weight_ns > profile_.rows[fit->heaviest].weight_ns) {
      fit->heaviest = index;
    }
  }
  void give(Index index) {
    SampleRow& row = profile_.rows[index];
    Fit* fit = fit_of(row);
    if (fit == nullptr || index == fit->heaviest) return;
    row.weight_ns = std::min(part_of(fit->time_ns, row.weight_ns, fit->weight_ns),
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
    Fit& fit = fits_[total];
    if (fit.heaviest != kNoIndex || fit.time_ns == 0) return;
    const auto next = static_cast<Index>(profile_.threads.size());
    const auto [thread, fresh] = threads_.try_emplace(total.process, next);
    if (fresh) profile_.threads.push_back({total.process, Tid{0}, {}, kNoIndex});
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

  // Totals have what their samples have: not what they have lent, and samples of no total get one,
  // of which no wait was counted.
  void settle_totals(std::size_t sampled) {
    for (WaitRow& total : profile_.waits) total.time_ns = fits_[total].time_ns;
    std::map<WaitGroup, std::uint64_t> estimated;
    for (std::size_t i = 0; i < sampled; ++i) {
      const SampleRow& row = profile_.rows[i];
      if (!is_fitted(row) || row.weight_ns == 0) continue;
      const WaitGroup* group = group_with_total(row);
      if (group == nullptr) {
        estimated[group_of(row)] += row.weight_ns;
      } else if (!fits_[*group].is_total) {
        estimated[*group] += row.weight_ns;
      }
    }
    for (const auto& [group, time_ns] : estimated) {
      WaitRow total;
      static_cast<WaitGroup&>(total) = group;
      total.time_ns = time_ns;
      profile_.waits.push_back(total);
    }
  }

  Profile& profile_;
  std::vector<bool> waits_;   // by value type
  std::vector<Fit> unknown_;  // time of unknown labels, and samples of no total, by value type
  std::span<const Index> without_lost_;
  WaitGroup found_;
  std::unordered_map<WaitGroup, Fit, HashOfWaitGroup> fits_;
  std::map<Index, Index> threads_;  // those without a number, by process
};

}  // namespace

std::uint64_t fit_waits(Profile& profile, const UnknownWaits& unknown,
                        std::span<const Index> without_lost) {
  return Fitting(profile, unknown, without_lost).run();
}

}  // namespace labelscope::cli
