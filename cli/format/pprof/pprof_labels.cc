// The rules are written down in docs/schema/recording-format.md, "Labels in pprof".
#include "cli/format/pprof/pprof_labels.h"

#include <algorithm>
#include <protozero/pbf_builder.hpp>

#include "cli/format/pprof/pprof_parts.h"

namespace labelscope::cli {
namespace {

using LabelBuilder = protozero::pbf_builder<LabelField>;
using SampleBuilder = protozero::pbf_builder<SampleField>;

// pprof keeps keys with this prefix for itself: a label "pprof::base" would turn the sample into
// the base of a comparison.
constexpr std::string_view kReservedPrefix = "pprof::";
constexpr std::string_view kReservedReplacement = "user.pprof::";

std::string user_key(std::string_view key) {
  if (!key.starts_with(kReservedPrefix)) return std::string(key);
  return std::string(kReservedReplacement) + std::string(key.substr(kReservedPrefix.size()));
}

}  // namespace

PprofLabels::PprofLabels(const RowLabels& rows, PprofStrings& strings)
    : rows_(rows), strings_(strings) {
  const std::string_view keys[] = {kPidKey, kThreadIdKey, kThreadNameKey, kCommKey};
  std::ranges::transform(keys, thread_keys_.begin(),
                         [&](std::string_view key) { return strings.intern(key); });
}

const std::string& PprofLabels::encode(const SampleRow& row) {
  const Process* process = rows_.process(row);
  const bool same_set = has_last_ && last_.label_set == row.label_set && process_ == process;
  const bool same = same_set && last_.thread == row.thread && last_.flags == row.flags &&
                    last_.outcome == row.outcome;
  if (same) return encoded_;
  if (!same_set) encode_user_labels(row);
  last_ = row;
  process_ = process;
  has_last_ = true;
  encoded_ = user_labels_;
  used_ = user_keys_;
  add_thread(row);
  if (rows_.must_show_outcome(row)) add_own_text("labelscope.outcome", outcome_name(row.outcome));
  add_own_text("labelscope.truncated", truncated_words(row.flags));
  add_own_text("labelscope.flags", flag_words(row.flags & ~unsigned{LS_TRUNCATED}));
  return encoded_;
}

void PprofLabels::encode_user_labels(const SampleRow& row) {
  encoded_.clear();
  used_.clear();
  for (const TextLabel& label : rows_.all(row, user_key)) {
    append(strings_.intern(label.key), LabelField::kStr, strings_.intern(label.value));
  }
  user_labels_ = encoded_;
  user_keys_ = used_;
  user_has_thread_key_ =
      std::ranges::any_of(thread_keys_, [this](std::int64_t key) { return is_used(key); });
}

void PprofLabels::add_thread(const SampleRow& row) {
  if (row.thread == kNoIndex || user_has_thread_key_) return encode_thread(row);
  if (threads_.size() <= row.thread) threads_.resize(row.thread + 1);
  std::string& known = threads_[row.thread];
  if (known.empty()) {
    const std::size_t start = encoded_.size();
    encode_thread(row);
    known = encoded_.substr(start);
  } else {
    encoded_ += known;
  }
}

void PprofLabels::encode_thread(const SampleRow& row) {
  if (const Thread* thread = rows_.thread(row)) {
    add_own_number(kPidKey, raw(rows_.pid(row)));
    add_own_number(kThreadIdKey, raw(thread->tid));
    add_own_text(kThreadNameKey, thread->name);
  }
  if (process_ != nullptr) add_own_text(kCommKey, process_->comm);
}

void PprofLabels::add_own_text(std::string_view key, std::string_view value) {
  if (!value.empty()) append(own_key(key), LabelField::kStr, strings_.intern(value));
}

void PprofLabels::add_own_number(std::string_view key, std::int64_t value) {
  // pprof drops a number 0 that has no unit. For other numbers without a unit it takes the key for
  // the unit. So with the key as its unit a 0 looks like the others.
  append(own_key(key), LabelField::kNum, value, value == 0 ? key : "");
}

std::int64_t PprofLabels::own_key(std::string_view key) {
  std::int64_t number = strings_.intern(key);
  if (!is_used(number)) return number;
  std::string prefixed(key);
  do {
    prefixed.insert(0, kOwnPrefix);
    number = strings_.intern(prefixed);
  } while (is_used(number));
  return number;
}

bool PprofLabels::is_used(std::int64_t key) const {
  return std::find(used_.begin(), used_.end(), key) != used_.end();
}

void PprofLabels::append(std::int64_t key, LabelField kind, std::int64_t value,
                         std::string_view unit) {
  std::string message;
  LabelBuilder label(message);
  label.add_int64(LabelField::kKey, key);
  label.add_int64(kind, value);
  if (!unit.empty()) label.add_int64(LabelField::kNumUnit, strings_.intern(unit));
  used_.push_back(key);
  SampleBuilder(encoded_).add_message(SampleField::kLabel, message);
}

}  // namespace labelscope::cli
