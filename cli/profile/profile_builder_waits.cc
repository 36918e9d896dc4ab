// The totals of waits, and what is known of who made threads wait.
#include <algorithm>
#include <optional>
#include <utility>

#include "cli/profile/blame.h"
#include "cli/profile/fit_waits.h"
#include "cli/profile/most_rows.h"
#include "cli/profile/profile_builder.h"
#include "cli/profile/wait_reason.h"

namespace labelscope::cli {

ProcessOfWaits process_of_waits(ProcessContext& process) {
  return {&process, meaning_of({}, process).labels, process.scheduler(), process.row};
}

// Nothing if there are too many label sets of too many reasons.
std::optional<WaitRow> ProfileBuilder::row_of(const WaitTotal& total, const ProcessOfWaits& of,
                                              bool early) {
  WaitRow row;
  std::optional<NumberedLabels::Meaning> meaning;
  if (numbered_.settled(total.labels) == nullptr)
    meaning = numbered_.meaning(total.labels, of, early);
  if (const NumberedLabels::Settled* known = numbered_.settled(total.labels)) {
    const auto call = static_cast<std::uint32_t>(total.system_call);
    auto& with_reason = with_reason_[{of.scheduler, total.kind}];
    const std::uint64_t key = std::uint64_t{known->set} << 32 | call;
    row.outcome = known->outcome;
    auto found = with_reason.find(key);
    if (found == with_reason.end()) {
      if (sets_with_reason_ >= kMostReasons * limits_.label_sets) return std::nullopt;
      ++sets_with_reason_;
      if (!meaning) meaning = numbered_.meaning(total.labels, of, early);
      found = with_reason.emplace(key, set_with_reason(std::move(meaning->labels), total, of)).first;
    }
    row.label_set = found->second;
  } else {
    row.outcome = meaning->outcome;
    row.label_set = set_with_reason(std::move(meaning->labels), total, of);
  }
  row.process = of.row;
  row.value = value_of(total.kind);
  row.time_ns = total.time_ns;
  row.count = total.count;
  row.lengths = total.lengths;
  return row;
}

// The rules have been applied to the labels of the number. A thread that has set a label of its own
// with the key of the reason keeps it, or a rule has left out both.
Index ProfileBuilder::set_with_reason(LabelSet labels, const WaitTotal& total,
                                      const ProcessOfWaits& of) {
  if (std::ranges::find(labels, kWaitKey, &Label::key) == labels.end()) {
    LabelSet reason;
    add_wait_reason(reason, total.kind, total.system_call, of.scheduler);
    apply_rules(rules_, reason, met_keys_);
    labels.insert(labels.end(), reason.begin(), reason.end());
  }
  return intern_label_set(std::move(labels));
}

namespace {

// Asks about each process once.
class ProcessesOfWaits {
 public:
  explicit ProcessesOfWaits(const FindProcessOfWaits& find) : find_(find) {}
  const ProcessOfWaits& operator()(ProcessKey process) {
    const auto [of, fresh] = known_.try_emplace(process);
    if (fresh) of->second = find_(process);
    return of->second;
  }

 private:
  const FindProcessOfWaits& find_;
  std::map<ProcessKey, ProcessOfWaits> known_;
};

// So many totals wait for the names of their numbers. What is beyond them is unknown.
constexpr std::size_t kMostUnnamed = 65'536;

// Rows that have become twice as many are merged, so that each is looked at a few times, however
// often totals come.
bool is_due(std::size_t rows, std::size_t merged) {
  constexpr std::size_t kFew = 65'536;
  return rows > 2 * merged + kFew;
}

}  // namespace

void ProfileBuilder::add_blame(std::span<const BlameTotal> totals, const FindProcessOfWaits& find,
                               bool early) {
  profile_.has_blame = true;
  ProcessesOfWaits processes(find);
  const auto add = [&](const BlameTotal& total, unsigned windows) {
    const bool by_thread = is_blamed_thread(total.kind);
    const auto waits_for_name = [&](std::uint64_t number) {
      return number != kUnknownLabels && !numbered_.is_known(number);
    };
    // The record that names a number may have found no room: it comes again with the number.
    const bool may_come = early && unnamed_blame_.size() < kMostUnnamed;
    if (may_come && (waits_for_name(total.wait.labels) ||
                     (by_thread && waits_for_name(total.labels)))) {
      unnamed_blame_.push_back({total, windows});
      return;
    }
    // If nobody ever knows which label set this time is of, it has no row in the matrix.
    if (!numbered_.is_known(total.wait.labels)) return;
    const std::optional<WaitRow> waited = row_of(total.wait, processes(total.wait.process), early);
    if (!waited) {
      left_out_.blamed_waits += total.wait.count;
      return;
    }
    BlameRow row{*waited, waited->time_ns, waited->count, {}};
    row.by.kind = total.kind;
    row.by.name = total.name;
    if (by_thread) {
      const std::uint64_t number =
          numbered_.is_known(total.labels) ? total.labels : std::uint64_t{LS_UNREADABLE_LOST};
      const ProcessOfWaits& by = processes(total.process);
      auto [labels, outcome] = numbered_.meaning(number, by, early);
      row.by.process = by.row;
      row.by.label_set = intern_label_set(std::move(labels));
      row.by.outcome = outcome;
    }
    profile_.blame.push_back(std::move(row));
  };
  for (const auto& before : std::exchange(unnamed_blame_, {})) add(before.total, before.windows);
  for (const BlameTotal& total : totals) add(total, 0);
  if (!is_due(profile_.blame.size(), merged_blame_)) return;
  left_out_.blamed_waits += keep_largest(profile_.blame, limits_.blame);
  merged_blame_ = profile_.blame.size();
}

void ProfileBuilder::add_totals(std::span<const WaitTotal> totals, const FindProcessOfWaits& find,
                                bool early) {
  has_totals_ = true;
  ProcessesOfWaits processes(find);
  const auto add = [&](const WaitTotal& total, unsigned windows) {
    if (total.labels == kUnknownLabels) {
      unknown_.of_any[value_of(total.kind)] += total.time_ns;
      return;
    }
    if (numbered_.is_known(total.labels)) {
      if (const auto row = row_of(total, processes(total.process), early)) {
        profile_.waits.push_back(*row);
        return;
      }
      left_out_.waits += total.count;
    } else if (unnamed_.size() < kMostUnnamed) {
      unnamed_.push_back({total, windows});
      return;
    }
    unknown_.of_others[value_of(total.kind)] += total.time_ns;
  };
  for (const auto& before : std::exchange(unnamed_, {})) add(before.total, before.windows);
  for (const WaitTotal& total : totals) add(total, 0);
  if (!is_due(profile_.waits.size(), merged_waits_)) return;
  keep_largest_totals();
  merged_waits_ = profile_.waits.size();
}

void ProfileBuilder::keep_largest_totals() {
  WithoutLost without_lost;
  if (!numbered_.lost_keys().empty()) {
    without_lost = [this](Index set) {
      LabelSet labels = profile_.label_sets[set];
      numbered_.lose(labels);
      return intern_label_set(std::move(labels));
    };
  }
  left_out_.waits += keep_largest(profile_.waits, limits_.totals, unknown_, without_lost);
}

// Its labels were read by the kernel's programs when the wait began.
ProfileBuilder::Decoded ProfileBuilder::decode_number(const Sample& sample,
                                                      ProcessContext& process) {
  const ProcessOfWaits of = process_of_waits(process);
  WaitTotal total;
  total.process = sample.process;
  total.kind = sample.kind;
  total.system_call = sample.system_call;
  total.labels = sample.label_number;
  if (numbered_.is_known(total.labels)) {
    if (const auto row = row_of(total, of, true))
      return {row->label_set, 0, {}, static_cast<ls_outcome>(row->outcome)};
  }
  LabelSet own = of.labels;
  apply_rules(rules_, own, met_keys_);
  return {set_with_reason(std::move(own), total, of), 0, {}, LS_UNREADABLE_LOST};
}

std::vector<std::uint64_t> ProfileBuilder::forget_numbers(std::span<const std::uint64_t> in_use) {
  std::vector<std::uint64_t> all(in_use.begin(), in_use.end());
  for (const auto& waits : unnamed_blame_) {
    all.push_back(waits.total.wait.labels);
    all.push_back(waits.total.labels);
  }
  std::vector<std::uint64_t> leaving = numbered_.end_window(all);
  if (numbered_.take_renumbered()) {
    with_reason_.clear();
    sets_with_reason_ = 0;
  }
  return leaving;
}

void ProfileBuilder::fit_totals(bool is_last) {
  if (!has_totals_) return;
  // Of those that wait for too long, nobody will ever know the labels.
  std::erase_if(unnamed_blame_, [&](auto& one) { return is_last || ++one.windows > kWindowsUnnamed; });
  std::erase_if(unnamed_, [&](auto& one) {
    if (!is_last && ++one.windows <= kWindowsUnnamed) return false;
    unknown_.of_others[value_of(one.total.kind)] += one.total.time_ns;
    return true;
  });
  keep_largest_totals();
  left_out_.blamed_waits += keep_largest(profile_.blame, limits_.blame);
  // Samples have all their labels, also those that totals have lost.
  std::vector<Index> without_lost(profile_.label_sets.size(), kNoIndex);
  if (!numbered_.lost_keys().empty()) {
    for (Index set = 0; set < without_lost.size(); ++set) {
      LabelSet labels = profile_.label_sets[set];
      numbered_.lose(labels);
      without_lost[set] = label_sets_.find(labels, profile_.label_sets);
    }
  }
  if (profile_.has_blame) blame_open_waits(profile_);
  unsampled_ns_ += fit_waits(profile_, unknown_, without_lost);
  weighed_ns_ = 0;
  for (const SampleRow& row : profile_.rows) {
    if (brings_own_time(profile_.values[row.value])) weighed_ns_ += row.weight_ns;
  }
}

}  // namespace labelscope::cli
