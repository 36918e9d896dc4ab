#include "cli/profile/numbered_labels.h"

#include <algorithm>
#include <utility>

#include "cli/profile/key_use.h"
#include "cli/profile/label_sets.h"
#include "cli/profile/profile_builder.h"

namespace labelscope::cli {

void NumberedLabels::name(std::uint64_t number, std::span<const std::byte> label_bytes,
                          ProcessContext& process, bool of_blame) {
  has_sets_of_blame_ |= of_blame;
  if (settled(number) != nullptr) return;  // the kernel had forgotten it
  if (named_.size() >= kMostNamed) named_before_ = std::exchange(named_, {});
  named_.insert_or_assign(number, Named{{label_bytes.begin(), label_bytes.end()},
                                        process.plan_epoch(),
                                        process.publisher_epoch(),
                                        meaning_of(label_bytes, process), of_blame, {window_}});
}

const NumberedLabels::Settled* NumberedLabels::settled(std::uint64_t number) {
  auto known = settled_.find(number);
  if (known == settled_.end()) {
    auto before = settled_before_.extract(number);
    if (!before) return nullptr;
    known = settled_.insert(std::move(before)).position;
  }
  known->second.use = {window_};
  return &known->second;
}

bool NumberedLabels::is_known(std::uint64_t number) const {
  return number < LS_OUTCOME_COUNT || named_.contains(number) || named_before_.contains(number) ||
         settled_.contains(number) || settled_before_.contains(number);
}

NumberedLabels::Meaning NumberedLabels::meaning(std::uint64_t number, const ProcessOfWaits& of,
                                                bool for_good) {
  if (const Settled* known = settled(number)) return {sets_[known->set], known->outcome};
  Meaning meaning{of.labels, static_cast<std::uint8_t>(number)};
  AllNamed* of_name = named_.contains(number) ? &named_ : &named_before_;
  const auto named = of_name->find(number);
  const bool is_named = named != of_name->end();
  if (is_named) {
    named->second.use = {window_};
    const Named& there = named->second;
    const bool is_new = of.process != nullptr && of.process->plan_epoch() == there.plan_epoch &&
                        of.process->publisher_epoch() != there.publisher_epoch;
    Observation seen = is_new ? meaning_of(there.label_bytes, *of.process) : there.meaning;
    meaning = {std::move(seen.labels), static_cast<std::uint8_t>(seen.outcome)};
    if (there.of_blame) keep_labels(meaning.labels, blame_keys_);
  }
  apply_rules(rules_, meaning.labels, met_keys_);
  sort_labels(meaning.labels);
  if (!is_named || !for_good) return meaning;
  of_name->erase(named);
  if (settled_.size() >= kMostNumbers) settled_before_ = std::exchange(settled_, {});
  Settled made{.outcome = meaning.outcome, .use = {window_}};
  made.set = room_for(std::move(meaning.labels), made.has_lost);
  settled_.emplace(number, made);
  return {sets_[made.set], made.outcome};
}

// Returns where a set is among those that are kept. One that comes too late is there without the
// labels that make sets so many. A set that is there already stays what it is, so that all its time
// is in one place.
Index NumberedLabels::room_for(LabelSet labels, bool& has_lost) {
  if (sets_.size() >= most_sets_ && known_sets_.find(labels, sets_) == kNoIndex) {
    if (sets_.size() >= room_) {
      lost_keys_ = keys_of_many_sets(sets_, most_sets_ / 4);
      room_ = sets_.size() + most_sets_;
    }
    lose(labels);
    // Keys may be as many as values.
    const bool is_hopeless = sets_.size() >= 2 * most_sets_;
    if (is_hopeless && known_sets_.find(labels, sets_) == kNoIndex) labels.clear();
    ++without_room_;
    has_lost = true;
  }
  const auto next = static_cast<Index>(sets_.size());
  const Index known = known_sets_.find_or_insert(labels, sets_);
  if (known == next) sets_.push_back(std::move(labels));
  return known;
}

void NumberedLabels::touch(std::uint64_t number) {
  if (settled(number) != nullptr) return;
  for (AllNamed* names : {&named_, &named_before_}) {
    if (const auto named = names->find(number); named != names->end()) named->second.use = {window_};
  }
}

// A number that the kernel has forgotten stays for another window: a wait may have begun under it a
// moment before, and is counted now, or open.
template <class All>
void NumberedLabels::forget_unused(All& numbers, std::uint32_t kept,
                                   std::vector<std::uint64_t>& leaving) const {
  for (auto entry = numbers.begin(); entry != numbers.end();) {
    Use& use = entry->second.use;
    if (use.leaves) {
      entry = numbers.erase(entry);
      continue;
    }
    use.leaves = window_ - use.window >= kept;
    if (use.leaves) leaving.push_back(entry->first);
    ++entry;
  }
}

std::vector<std::uint64_t> NumberedLabels::end_window(std::span<const std::uint64_t> in_use) {
  for (const std::uint64_t number : in_use) touch(number);
  // Sets that are many now would lose labels soon.
  const std::uint32_t kept = sets_.size() > most_sets_ / 4 ? 1 : kWindowsKept;
  std::vector<std::uint64_t> leaving;
  forget_unused(named_, kept, leaving);
  forget_unused(named_before_, kept, leaving);
  forget_unused(settled_, kept, leaving);
  forget_unused(settled_before_, kept, leaving);
  forget_sets();
  ++window_;
  return leaving;
}

// Leaves the sets that some number has, if these are few among them.
void NumberedLabels::forget_sets() {
  constexpr std::size_t kFew = 1024;
  std::vector<Index> numbers(sets_.size(), kNoIndex);
  std::size_t used = 0;
  bool has_lost = false;
  for (const AllSettled* all : {&settled_, &settled_before_}) {
    for (const auto& [number, settled] : *all) {
      if (std::exchange(numbers[settled.set], 0) == kNoIndex) ++used;
      has_lost |= settled.has_lost;
    }
  }
  if (sets_.size() <= 2 * used + std::min(kFew, most_sets_ / 4)) return;
  std::vector<LabelSet> sets;
  IndexTable known_sets;
  for (std::size_t set = 0; set < numbers.size(); ++set) {
    if (numbers[set] == kNoIndex) continue;
    numbers[set] = static_cast<Index>(sets.size());
    known_sets.find_or_insert(sets_[set], std::span<const LabelSet>(sets));
    sets.push_back(std::move(sets_[set]));
  }
  for (AllSettled* all : {&settled_, &settled_before_}) {
    for (auto& [number, settled] : *all) settled.set = numbers[settled.set];
  }
  sets_ = std::move(sets);
  known_sets_ = std::move(known_sets);
  room_ = std::max(most_sets_, sets_.size());
  // Labels may come back that sets have lost, once none is without them.
  if (!has_lost) lost_keys_.clear();
  renumbered_ = true;
}

void NumberedLabels::lose(LabelSet& labels) const {
  std::erase_if(labels, [this](const Label& label) {
    return std::ranges::find(lost_keys_, label.key) != lost_keys_.end();
  });
}

}  // namespace labelscope::cli
