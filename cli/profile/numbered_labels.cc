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
                                        meaning_of(label_bytes, process), of_blame});
}

const NumberedLabels::Settled* NumberedLabels::settled(std::uint64_t number) {
  if (const auto known = settled_.find(number); known != settled_.end()) return &known->second;
  const auto before = settled_before_.find(number);
  if (before == settled_before_.end()) return nullptr;
  return &settled_.emplace(number, before->second).first->second;
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
  const Settled made{room_for(std::move(meaning.labels)), meaning.outcome};
  settled_.emplace(number, made);
  return {sets_[made.set], made.outcome};
}

// Returns where a set is among those that are kept. One that comes too late is there without the
// labels that make sets so many. A set that is there already stays what it is, so that all its time
// is in one place.
Index NumberedLabels::room_for(LabelSet labels) {
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
  }
  const auto next = static_cast<Index>(sets_.size());
  const Index known = known_sets_.find_or_insert(labels, sets_);
  if (known == next) sets_.push_back(std::move(labels));
  return known;
}

void NumberedLabels::lose(LabelSet& labels) const {
  std::erase_if(labels, [this](const Label& label) {
    return std::ranges::find(lost_keys_, label.key) != lost_keys_.end();
  });
}

}  // namespace labelscope::cli
