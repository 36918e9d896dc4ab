// A sample that resembles an earlier one needs two hash look-ups of its raw bytes (stack, labels),
// one of its thread, and one of its row. Everything else happens once for each new value.
#include "cli/profile/profile_builder.h"

#include <algorithm>

#include "cli/profile/blame.h"
#include "cli/profile/fit_waits.h"
#include "cli/profile/index_table.h"
#include "cli/profile/label_sets.h"
#include "cli/profile/merge.h"
#include "cli/profile/wait_reason.h"

namespace labelscope::cli {
namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // NOLINT: bytes are bytes
}

// Of the parts by which locations differ before they are symbolized.
std::uint64_t hash_of_place(const Location& location) {
  const std::uint64_t words[3] = {location.address, location.module, location.by_frame_pointer};
  return hash_of_bytes(as_text(std::as_bytes(std::span(words))));
}

}  // namespace

Observation meaning_of(std::span<const std::byte> label_bytes, ProcessContext& process) {
  Observation seen = process.decode(label_bytes);
  for (Label& label : seen.labels) label.publisher = process.publisher(label.publisher);
  return seen;
}

void ProfileBuilder::add(const Sample& sample, ProcessContext& process) {
  if (process.caches.address_epoch != process.address_epoch()) {
    process.caches.address_epoch = process.address_epoch();
    process.caches.user_stacks.clear();
    process.caches.locations.clear();
  }
  if (process.caches.publisher_epoch != process.publisher_epoch()) {
    process.caches.publisher_epoch = process.publisher_epoch();
    process.caches.labels.clear();
  }
  SampleRow row;
  const bool timed = profile_.rows.size() < timed_samples_;
  row.time_ns = timed ? sample.time_ns : 0;
  row.thread = intern_thread(sample, process);
  row.stack = intern_stack(sample, process);
  const Decoded& labels = decode(sample, process);
  row.label_set = labels.label_set;
  label_changes_ += labels.changes;
  row.value = value_of(sample.kind);
  row.flags = static_cast<std::uint16_t>(sample.flags | labels.flags);
  row.outcome = static_cast<std::uint8_t>(sample.outcome);
  if (sample.outcome == LS_LABELLED && labels.outcome != LS_LABELLED) {
    row.outcome = static_cast<std::uint8_t>(labels.outcome);
    ++undecoded_[row.outcome];
  }
  ++samples_;
  if (row.outcome == LS_LABELLED) ++labelled_;

  Waiting waiting{
      row, 0, sample.pid, sample.tid, sample.time_ns, sample.thread_ns, sample.weight_ns};
  if (timed) {
    profile_.rows.push_back(row);
    weigh(waiting, static_cast<Index>(profile_.rows.size() - 1));
  } else {
    waiting.hash = hash_of(row);
    let_wait(waiting);
  }
}

// The first half of the wait is for the slot of the row, the second half for the row itself.
void ProfileBuilder::let_wait(const Waiting& sample) {
  if (waited_ - entered_ == kMostWaiting) enter(waiting_[entered_++ % kMostWaiting]);
  waiting_[waited_++ % kMostWaiting] = sample;
  rows_.prefetch(sample.hash);
  if (waited_ - entered_ <= kMostWaiting / 2) return;
  const Index row = rows_.first_met(waiting_[(entered_ + kMostWaiting / 2) % kMostWaiting].hash);
  if (row != kNoIndex) prefetch(profile_.rows[row]);
}

void ProfileBuilder::enter_waiting() {
  while (entered_ != waited_) enter(waiting_[entered_++ % kMostWaiting]);
}

void ProfileBuilder::enter(const Waiting& sample) {
  const auto next = static_cast<Index>(profile_.rows.size());
  const Index known = rows_.find_or_insert(sample.hash, sample.row, profile_.rows);
  if (known == next) {
    profile_.rows.push_back(sample.row);
  } else {
    ++profile_.rows[known].count;
  }
  weigh(sample, known);
}

// A sample has a weight of its own, or a part of the time of its thread's account.
void ProfileBuilder::weigh(const Waiting& sample, Index row) {
  if (sample.weight_ns == 0) {
    accounts_.add_sample(sample.pid, sample.tid, sample.time_ns, sample.thread_ns, row);
  } else {
    profile_.rows[row].weight_ns += sample.weight_ns;
    weighed_ns_ += sample.weight_ns;
  }
}

std::uint8_t ProfileBuilder::value_of(ls_sample_kind kind) {
  if (value_of_kind_[kind] == kNoValue) {
    value_of_kind_[kind] = static_cast<std::uint8_t>(profile_.values.size());
    profile_.values.push_back(time_value(kind));
  }
  return value_of_kind_[kind];
}

Index ProfileBuilder::intern_thread(const Sample& sample, ProcessContext& process) {
  auto [known, fresh] = process.caches.threads.try_emplace(
      raw(sample.tid), static_cast<Index>(profile_.threads.size()));
  if (fresh) profile_.threads.push_back({sample.pid, sample.tid, std::string(sample.comm)});
  Thread& thread = profile_.threads[known->second];
  if (thread.name != sample.comm) thread.name = sample.comm;
  return known->second;
}

Index ProfileBuilder::intern_stack(const Sample& sample, ProcessContext& process) {
  scratch_.clear();
  scratch_.append(as_text(std::as_bytes(sample.stack.kernel)));
  scratch_.append(as_text(std::as_bytes(sample.stack.user)));
  // separates the two parts of the stack
  scratch_.push_back(static_cast<char>(sample.stack.kernel.size()));
  scratch_.push_back(static_cast<char>(sample.stack.end));
  Index& index = process.caches.user_stacks.index_of(scratch_);
  if (index == kNoIndex) index = intern_frames(sample.stack, process);
  return index;
}

Index ProfileBuilder::intern_frames(const StackView& frames, ProcessContext& process) {
  Stack stack;
  stack.end = frames.end;
  stack.frames.reserve(frames.kernel.size() + frames.user.size());
  bool leaf = true;
  for (std::uint64_t address : frames.kernel) {
    stack.frames.push_back(intern_location(leaf ? address : address - 1, process.kernel_module()));
    leaf = false;
  }
  leaf = true;
  for (std::uint64_t frame : frames.user) {
    // A return address points behind the call, perhaps to the next line or function.
    if (!leaf) --frame;
    auto [known, fresh] = process.caches.locations.try_emplace(frame, kNoIndex);
    if (fresh) {
      const Address address = frame & ~LS_FRAME_BY_FP;
      known->second = intern_location(address, process.module_at(address), frame != address);
    }
    // There is no code: the function that was called keeps something else than a frame pointer in
    // that register, and the address found by it is no caller.
    if (!leaf && profile_.locations[known->second].module == kNoIndex) {
      if (stack.end == LS_STACK_TOO_DEEP) stack.end = LS_STACK_CHAIN_ENDED;
      break;
    }
    leaf = false;
    stack.frames.push_back(known->second);
  }
  const auto next = static_cast<Index>(profile_.stacks.size());
  const Index known = stacks_.find_or_insert(stack, profile_.stacks);
  if (known == next) profile_.stacks.push_back(std::move(stack));
  return known;
}

Index ProfileBuilder::intern_location(Address address, Index module, bool by_frame_pointer) {
  Location location;
  location.module = module;
  location.address = address;
  location.by_frame_pointer = by_frame_pointer;
  const auto is_same = [&](Index index) {
    const Location& known = profile_.locations[index];
    return known.address == address && known.module == module &&
           known.by_frame_pointer == by_frame_pointer;
  };
  const auto next = static_cast<Index>(profile_.locations.size());
  const Index known = locations_.find_or_insert(
      hash_of_place(location), next, is_same,
      [&](Index index) { return hash_of_place(profile_.locations[index]); });
  if (known == next) profile_.locations.push_back(std::move(location));
  return known;
}

const ProfileBuilder::Decoded& ProfileBuilder::decode(const Sample& sample,
                                                      ProcessContext& process) {
  std::string_view bytes = as_text(sample.label_bytes);
  const bool waits = is_wait(sample.kind);
  if (waits) {  // equal labels and equal reasons
    const std::int32_t reason[] = {sample.kind, sample.system_call};
    scratch_.assign(bytes).append(as_text(std::as_bytes(std::span(reason))));
    bytes = scratch_;
  }
  Index& index = process.caches.labels.index_of(bytes);
  if (index != kNoIndex) return decoded_[index];
  Observation observation = meaning_of(sample.label_bytes, process);
  if (waits) {
    add_wait_reason(observation.labels, sample.kind, sample.system_call, process.scheduler());
  }
  const LabelChanges changes = apply_rules(rules_, observation.labels, met_keys_);
  index = static_cast<Index>(decoded_.size());
  decoded_.push_back({intern_label_set(std::move(observation.labels)), observation.flags, changes,
                      observation.outcome});
  return decoded_.back();
}

Index ProfileBuilder::intern_label_set(LabelSet labels) {
  sort_labels(labels);
  const auto next = static_cast<Index>(profile_.label_sets.size());
  const Index known = label_sets_.find_or_insert(labels, profile_.label_sets);
  if (known == next) profile_.label_sets.push_back(std::move(labels));
  return known;
}

ProcessOfWaits process_of_waits(ProcessContext& process) {
  return {&process, meaning_of({}, process).labels, process.scheduler()};
}

WaitRow ProfileBuilder::row_of(const WaitTotal& total, const ProcessOfWaits& of, bool early) {
  WaitRow row;
  if (const NumberedLabels::Settled* known = numbered_.settled(total.labels)) {
    const auto call = static_cast<std::uint32_t>(total.system_call);
    auto& with_reason = with_reason_[{of.scheduler, total.kind}];
    const auto [set, fresh] = with_reason.try_emplace(std::uint64_t{known->set} << 32 | call);
    row.outcome = known->outcome;
    if (fresh) {
      auto labels = numbered_.meaning(total.labels, of, early).labels;
      set->second = set_with_reason(std::move(labels), total, of);
    }
    row.label_set = set->second;
  } else {
    auto meaning = numbered_.meaning(total.labels, of, early);
    row.outcome = meaning.outcome;
    row.label_set = set_with_reason(std::move(meaning.labels), total, of);
  }
  row.pid = total.pid;
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
  const ProcessOfWaits& operator()(Pid pid) {
    const auto [of, fresh] = known_.try_emplace(raw(pid));
    if (fresh) of->second = find_(pid);
    return of->second;
  }

 private:
  const FindProcessOfWaits& find_;
  std::unordered_map<std::int32_t, ProcessOfWaits> known_;
};

// So many totals wait for the names of their numbers. What is beyond them is unknown.
constexpr std::size_t kMostUnnamed = 65'536;

// Rows that have become twice as many are merged, so that each is looked at a few times, however
// often totals come.
bool is_due(std::size_t rows, std::size_t merged) { return rows > 2 * merged + kMostUnnamed; }

}  // namespace

void ProfileBuilder::add_blame(std::span<const BlameTotal> totals, const FindProcessOfWaits& find,
                               bool early) {
  profile_.has_blame = true;
  ProcessesOfWaits processes(find);
  const auto add = [&](const BlameTotal& total) {
    if (!numbered_.is_known(total.wait.labels)) {
      // If nobody ever knows which label set this time is of, it has no row in the matrix.
      if (total.wait.labels != kUnknownLabels && unnamed_blame_.size() < kMostUnnamed)
        unnamed_blame_.push_back(total);
      return;
    }
    const WaitRow waited = row_of(total.wait, processes(total.wait.pid), early);
    BlameRow row{waited, waited.time_ns, waited.count, {}};
    row.by.kind = total.kind;
    row.by.name = total.name;
    if (is_blamed_thread(total.kind)) {
      const std::uint64_t number =
          numbered_.is_known(total.labels) ? total.labels : std::uint64_t{LS_UNREADABLE_LOST};
      auto [labels, outcome] = numbered_.meaning(number, processes(total.pid), early);
      row.by.pid = total.pid;
      row.by.label_set = intern_label_set(std::move(labels));
      row.by.outcome = outcome;
    }
    profile_.blame.push_back(std::move(row));
  };
  std::ranges::for_each(std::exchange(unnamed_blame_, {}), add);
  std::ranges::for_each(totals, add);
  if (!is_due(profile_.blame.size(), merged_blame_)) return;
  merge_equal_blame(profile_.blame);
  merged_blame_ = profile_.blame.size();
}

void ProfileBuilder::add_totals(std::span<const WaitTotal> totals, const FindProcessOfWaits& find,
                                bool early) {
  has_totals_ = true;
  ProcessesOfWaits processes(find);
  const auto add = [&](const WaitTotal& total) {
    if (numbered_.is_known(total.labels)) {
      profile_.waits.push_back(row_of(total, processes(total.pid), early));
    } else if (total.labels != kUnknownLabels && unnamed_.size() < kMostUnnamed) {
      unnamed_.push_back(total);
    } else {
      unknown_[value_of(total.kind)] += total.time_ns;
    }
  };
  std::ranges::for_each(std::exchange(unnamed_, {}), add);
  std::ranges::for_each(totals, add);
  if (!is_due(profile_.waits.size(), merged_waits_)) return;
  merge_equal_waits(profile_.waits);
  merged_waits_ = profile_.waits.size();
}

void ProfileBuilder::fit_totals() {
  if (!has_totals_) return;
  for (const WaitTotal& total : unnamed_) unknown_[value_of(total.kind)] += total.time_ns;
  merge_equal_waits(profile_.waits);
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
    if (is_wait(profile_.values[row.value])) weighed_ns_ += row.weight_ns;
  }
}

Profile ProfileBuilder::take(const KernelTotals& totals) {
  enter_waiting();
  fit_totals();
  profile_.ledger.time = accounts_.settle(totals);
  profile_.ledger.time.attributed_ns += weighed_ns_;
  profile_.ledger.time.unsampled_ns += unsampled_ns_;
  // What comes next needs memory, too.
  for (IndexTable* table : {&stacks_, &label_sets_, &locations_, &rows_}) *table = {};
  return std::move(profile_);
}

}  // namespace labelscope::cli
