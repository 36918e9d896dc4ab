// A sample that resembles an earlier one needs two hash look-ups of its raw bytes (stack, labels),
// one of its thread, and one of its row. Everything else happens once for each new value.
#include "cli/profile/profile_builder.h"

#include <algorithm>
#include <span>
#include <utility>

#include "cli/profile/index_table.h"
#include "cli/profile/label_sets.h"
#include "cli/profile/wait_reason.h"

namespace labelscope::cli {
namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // NOLINT: bytes are bytes
}

// Of the parts by which locations differ before they are symbolized.
std::uint64_t hash_of_place(const Location& location) {
  const std::uint64_t words[3] = {location.address, location.module,
                                  static_cast<std::uint64_t>(location.kind)};
  return hash_of_bytes(as_text(std::as_bytes(std::span(words))));
}

}  // namespace

Observation meaning_of(std::span<const std::byte> label_bytes, ProcessContext& process) {
  Observation seen = process.decode(label_bytes);
  for (Label& label : seen.labels) label.publisher = process.publisher(label.publisher);
  return seen;
}

Index ProfileBuilder::enter(Pid pid) {
  profile_.processes.push_back({pid, {}, {}, {}, {}});
  return static_cast<Index>(profile_.processes.size() - 1);
}

void ProfileBuilder::rename_first(const ProcessContext& process, std::string_view from,
                                  std::string_view to) {
  if (process.row == kNoIndex) return;
  const auto first = process.caches.threads.find(raw(profile_.pid_of(process.row)));
  if (first == process.caches.threads.end()) return;
  std::string& name = profile_.threads[first->second.row].name;
  if (name == from) name = to;
}

void ProfileBuilder::add(const Sample& sample, ProcessContext& process) {
  if (process.row == kNoIndex) process.row = enter(sample.process.pid);
  if (process.caches.address_epoch != process.address_epoch()) {
    process.caches.address_epoch = process.address_epoch();
    process.caches.user_stacks.clear();
    process.caches.locations.clear();
    process.caches.unknown_modules.clear();
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
  if (!with_unknown_module_.empty() && with_unknown_module_.contains(row.stack))
    ++in_lost_mappings_;
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

  Waiting waiting{.row = row,
                  .kind = sample.kind,
                  .process = sample.process,
                  .tid = sample.tid,
                  .time_ns = sample.time_ns,
                  .thread_ns = sample.thread_ns,
                  .weight_ns = sample.weight_ns};
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
  const KindOfSamples& kind = kKindsOfSamples[sample.kind];
  if (kind.weighing == Weighing::kByAccount) {
    accounts_.add_sample(sample.process, sample.tid, sample.time_ns, sample.thread_ns, row);
  } else {
    profile_.rows[row].weight_ns += sample.weight_ns;
    if (kind.unit == kNanoseconds) weighed_ns_ += sample.weight_ns;
  }
}

std::uint8_t ProfileBuilder::value_of(ls_sample_kind kind) {
  if (value_of_kind_[kind] == kNoValue) {
    value_of_kind_[kind] = static_cast<std::uint8_t>(profile_.values.size());
    profile_.values.push_back(value_of_kind(kind));
  }
  return value_of_kind_[kind];
}

Index ProfileBuilder::intern_thread(const Sample& sample, ProcessContext& process) {
  ProcessContext::KnownThread& known = process.caches.threads[raw(sample.tid)];
  const bool is_other =
      known.identity != 0 && sample.identity != 0 && known.identity != sample.identity;
  if (known.row == kNoIndex || is_other) {
    known = {.row = static_cast<Index>(profile_.threads.size())};
    profile_.threads.push_back({process.row, sample.tid, std::string(sample.comm)});
  }
  if (sample.identity != 0) known.identity = sample.identity;
  Thread& thread = profile_.threads[known.row];
  // Of a wait that has not ended, the name may not be known.
  if (!sample.comm.empty() && thread.name != sample.comm) thread.name = sample.comm;
  return known.row;
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
  bool lacks_module = false;
  stack.frames.reserve(frames.kernel.size() + frames.user.size());
  bool leaf = true;
  for (std::uint64_t address : frames.kernel) {
    stack.frames.push_back(intern_location(
        {.module = process.kernel_module(), .address = leaf ? address : address - 1, .lines = {}}));
    leaf = false;
  }
  leaf = true;
  for (const std::uint64_t word : frames.user) {
    Frame frame = frames.frame(word);
    // A return address points behind the call, perhaps to the next line or function.
    if (!leaf && is_code(frame.kind)) --frame.value;
    auto [known, fresh] = process.caches.locations.try_emplace(frame.word(), kNoIndex);
    if (fresh) known->second = location_of(frame, process);
    const bool is_unknown = process.caches.unknown_modules.contains(frame.word());
    lacks_module |= is_unknown;
    // There is no code: the function that was called keeps something else than a frame pointer in
    // that register, and the address found by it is no caller.
    if (!leaf && !is_unknown && is_code(frame.kind) &&
        profile_.locations[known->second].module == kNoIndex) {
      if (stack.end == LS_STACK_TOO_DEEP) stack.end = LS_STACK_CHAIN_ENDED;
      break;
    }
    leaf = false;
    stack.frames.push_back(known->second);
    // The table of what was there before does not lead to the caller of what may be there now.
    if (is_unknown && frames.by_tables) {
      stack.end = LS_STACK_NO_MAPPING;
      break;
    }
  }
  const auto next = static_cast<Index>(profile_.stacks.size());
  const Index known = stacks_.find_or_insert(stack, profile_.stacks);
  if (known == next) profile_.stacks.push_back(std::move(stack));
  if (lacks_module) with_unknown_module_.insert(known);
  return known;
}

Index ProfileBuilder::location_of(Frame frame, ProcessContext& process) {
  if (!is_code(frame.kind)) return intern_location(process.place_in_script(frame.value));
  Location location{.address = frame.value, .lines = {}, .kind = frame.kind};
  const Index module = process.module_at(location.address);
  if (module == kUnknownModule) {
    process.caches.unknown_modules.insert(frame.word());
  } else {
    location.module = module;
  }
  return intern_location(std::move(location));
}

Index ProfileBuilder::intern_location(Location location) {
  const bool is_shared = is_code(location.kind) || location.module != kNoIndex;
  const auto is_same = [&](Index index) {
    const Location& known = profile_.locations[index];
    return is_shared && known.address == location.address && known.module == location.module &&
           known.kind == location.kind;
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
  if (sample.label_number != 0) return of_number_ = decode_number(sample, process);
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

Profile& ProfileBuilder::end_window(const KernelTotals& totals, bool is_last) {
  enter_waiting();
  fit_totals(is_last);
  profile_.ledger.time = accounts_.cut(totals, is_last);
  profile_.ledger.time.attributed_ns += std::exchange(weighed_ns_, 0);
  profile_.ledger.time.unsampled_ns += unsampled_ns_;
  profile_.ledger.time.unsampled_waits_ns = std::exchange(unsampled_ns_, 0);
  return profile_;
}

Profile ProfileBuilder::move_out() {
  // What comes next needs memory, too.
  for (IndexTable* table : {&stacks_, &label_sets_, &locations_, &rows_}) *table = {};
  return std::move(profile_);
}

Profile ProfileBuilder::begin_window(const Renumbering& numbers) {
  rows_ = {};
  merged_waits_ = merged_blame_ = 0;
  unknown_ = {};
  has_totals_ = false;
  return take_window(profile_, numbers);
}

void ProfileBuilder::keep(const Renumbering& numbers) {
  renumber(profile_, numbers);
  keep_numbered(profile_.processes, numbers.processes);
  keep_numbered(profile_.threads, numbers.threads);
  keep_numbered(profile_.locations, numbers.locations);
  keep_numbered(profile_.stacks, numbers.stacks);
  keep_numbered(profile_.label_sets, numbers.label_sets);
  std::unordered_set<Index> unknown;
  for (const Index stack : with_unknown_module_) {
    const Index number = Renumbering::of(numbers.stacks, stack);
    if (number != kNoIndex) unknown.insert(number);
  }
  with_unknown_module_ = std::move(unknown);
  // They are decoded again when they come.
  decoded_.clear();
  with_reason_.clear();
  sets_with_reason_ = 0;
  for (IndexTable* table : {&stacks_, &label_sets_, &locations_}) *table = {};
  const auto enter_all = [](IndexTable& table, const auto& elements) {
    const std::span all(elements);
    for (std::size_t i = 0; i < all.size(); ++i) table.find_or_insert(all[i], all.first(i));
  };
  enter_all(stacks_, profile_.stacks);
  enter_all(label_sets_, profile_.label_sets);
  for (Index i = 0; i < profile_.locations.size(); ++i) {
    locations_.find_or_insert(
        hash_of_place(profile_.locations[i]), i, [](Index) { return false; },
        [&](Index index) { return hash_of_place(profile_.locations[index]); });
  }
}

// Stacks and labels are met again by their bytes.
void ProcessContext::renumber(const Renumbering& numbers) {
  row = Renumbering::of(numbers.processes, row);
  auto threads = std::move(caches.threads);
  caches = {};
  for (auto& [tid, thread] : threads) {
    thread.row = Renumbering::of(numbers.threads, thread.row);
    if (thread.row != kNoIndex) caches.threads.emplace(tid, thread);
  }
}

}  // namespace labelscope::cli
