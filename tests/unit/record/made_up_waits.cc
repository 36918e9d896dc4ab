#include "unit/record/made_up_waits.h"

#include <sys/syscall.h>

#include <algorithm>
#include <functional>

#include "sources/label_codec.h"

namespace labelscope::test {
namespace {

constexpr std::int32_t kCalls[] = {SYS_futex, SYS_read, SYS_fsync, LS_CALL_NONE};
constexpr ls_sample_kind kKinds[] = {LS_WAITING, LS_RUNNABLE, LS_UNINTERRUPTIBLE};
constexpr std::string_view kTenants[] = {"acme", "globex", "initech", ""};
constexpr std::uint64_t kFirstLabelNumber = 4096;
constexpr std::string_view kUnreadable = "?";

}  // namespace

MadeUpWaits::MadeUpWaits(std::uint64_t seed, const WaitFaults& faults)
    : random_(seed), faults_(faults) {
  processes_.push_back({new_number(), 1, {{}}});
}

// Numbers are few, so they come again soon.
std::int32_t MadeUpWaits::new_number() {
  for (;;) {
    const auto number = static_cast<std::int32_t>(kFirstNumber + below(12));
    if (!std::ranges::any_of(processes_, [&](const Process& one) { return one.pid == number; }))
      return number;
  }
}

MadeUpWaits::Labels MadeUpWaits::new_labels() {
  Labels labels{std::string(kTenants[below(std::size(kTenants))]), 0};
  if (!labels.tenant.empty() && faults_.requests != 0) labels.request = 1 + below(faults_.requests);
  return labels;
}

std::vector<std::byte> MadeUpWaits::bytes_of(const Labels& labels) {
  LabelSet set;
  if (!labels.tenant.empty()) set.push_back({"tenant", labels.tenant, 0});
  if (labels.request != 0) set.push_back({"request", std::to_string(labels.request), 0});
  std::vector<std::byte> bytes;
  append_label_bytes(set, bytes);
  return bytes;
}

// Names the number, if the kernel does not think that it has done so.
std::uint64_t MadeUpWaits::number_of(const Process& process, const Labels& labels) {
  if (labels.tenant == kUnreadable) return LS_UNREADABLE_NOT_RESIDENT;
  if (labels.tenant.empty()) return LS_UNLABELLED;
  const auto tenant = std::ranges::find(kTenants, labels.tenant) - std::begin(kTenants);
  // Threads of one process that runs one program have equal numbers for equal labels.
  const std::uint64_t number =
      kFirstLabelNumber + ((labels.request * 4 + static_cast<std::uint64_t>(tenant)) * 64 +
                           static_cast<std::uint64_t>(process.pid - kFirstNumber)) *
                              1048576 +
      process.life;
  if (chance(faults_.number_forgotten)) told_.erase(number);
  if (told_.contains(number) || chance(faults_.label_set_dropped)) return number;
  told_.insert(number);
  ever_told_.insert(number);
  handler_->on_label_set(process.key(), number, bytes_of(labels), false);
  return number;
}

void MadeUpWaits::sample(const Process& process, std::size_t thread, const Labels& labels,
                         const Key& key, std::uint64_t weight_ns, std::uint32_t flags,
                         std::uint64_t number) {
  ++taken_;
  const bool is_unreadable = labels.tenant == kUnreadable;
  const ls_outcome outcome = is_unreadable           ? LS_UNREADABLE_NOT_RESIDENT
                             : labels.tenant.empty() ? LS_UNLABELLED
                                                     : LS_LABELLED;
  ++outcomes_[outcome];
  if (flags == 0 && chance(faults_.sample_dropped)) {
    ++dropped_;
    return;
  }
  const std::vector<std::byte> bytes = is_unreadable ? std::vector<std::byte>() : bytes_of(labels);
  Sample made;
  made.time_ns = ++now_;
  made.kind = std::get<ls_sample_kind>(key);
  made.system_call = std::get<2>(key);
  made.weight_ns = weight_ns;
  made.process = process.key();
  made.tid = Tid{process.pid + static_cast<std::int32_t>(thread) * 64};
  made.comm = "made-up";
  made.outcome = outcome;
  made.flags = flags;
  if (outcome == LS_LABELLED && number >= kFirstLabelNumber) {
    made.label_number = number;
  } else {
    made.label_bytes = bytes;
  }
  handler_->on_sample(made);
}

void MadeUpWaits::blame(const WaitPlace& place, const Key& key, std::uint64_t ns) {
  constexpr ls_blame_kind kWho[] = {LS_BLAME_THREAD, LS_BLAME_THREAD,    LS_BLAME_OWNER,
                                    LS_BLAME_TIMER,  LS_BLAME_INTERRUPT, LS_BLAME_PROCESS,
                                    LS_BLAME_KERNEL, LS_BLAME_UNKNOWN};
  const ls_blame_kind kind = kWho[below(std::size(kWho))];
  if (kind == LS_BLAME_UNKNOWN) {  // nobody knows who it was
    if (ns != 0) blamed_[{place, {}}].add(ns);
    return;
  }
  Who who{kind, {}, 0, {}};
  Culprit culprit{.kind = kind, .pid = 0, .tenant = {}};
  if (kind == LS_BLAME_PROCESS) {
    std::get<3>(who) = culprit.tenant = below(2) == 0 ? "sh" : "cron";
  } else if (kind == LS_BLAME_THREAD || kind == LS_BLAME_OWNER) {
    const Process& process = processes_[below(processes_.size())];
    const Labels& labels = process.threads[below(process.threads.size())];
    std::get<1>(who) = process.key();
    culprit.pid = process.pid;
    std::get<2>(who) = number_of(process, labels);
    culprit.tenant = labels.tenant;
  }
  const bool has_room = !chance(faults_.blame_without_room);
  if (ns == 0) return;  // a cut has left nothing of it
  if (!has_room) {
    blamed_[{place, {}}].add(ns);
    return;
  }
  blamed_[{place, culprit}].add(ns);
  blamed_on_[std::get<2>(who)] += ns;
  if (chance(faults_.blamed_too_long)) ns += below(100'000);
  blames_[{key, who}].add(ns);
}

void MadeUpWaits::begin_wait() {
  Begun begun;
  begun.process = below(processes_.size());
  Process& process = processes_[begun.process];
  const std::size_t thread = begun.thread = below(process.threads.size());
  if (chance(0.3)) process.threads[thread] = new_labels();
  Labels labels = process.threads[thread];
  if (chance(faults_.unreadable)) labels = {std::string(kUnreadable), 0};
  const ls_sample_kind kind = kKinds[below(std::size(kKinds))];
  const std::int32_t call = kCalls[below(std::size(kCalls))];
  // From microseconds to seconds.
  const std::uint64_t ns = 1'000 + below(std::uint64_t{1} << (11 + below(20)));
  const std::uint64_t number = number_of(process, labels);
  begun_ = Begun{begun.process, thread, labels, kind, call, number, ns, now_, now_};
}

// Returns whether the wait ends before the next cut.
bool MadeUpWaits::pass_until_cut() {
  const std::uint64_t end = begun_->began + begun_->ns;
  if (cuts_.empty() || cuts_.back() >= end) {
    now_ = std::max(now_, end);
    return true;
  }
  now_ = std::max(now_, cuts_.back());
  cuts_.pop_back();
  is_at_cut_ = true;
  return false;
}

void MadeUpWaits::cut_at(std::vector<std::uint64_t> times) {
  std::ranges::sort(times, std::greater<>());
  cuts_ = std::move(times);
}

// What of the wait lies before the cut is handed out with its number, or as it was read.
Status MadeUpWaits::cut(EventHandler& handler) {
  handler_ = &handler;
  is_at_cut_ = false;
  if (begun_ && now_ > begun_->from) {
    const Process& process = processes_[begun_->process];
    const std::uint64_t ns = now_ - begun_->from;
    open_[{process.pid, begun_->kind, begun_->call, begun_->labels.tenant}].add(ns);
    divided_ += ns;
    const Key key{process.key(), begun_->kind, begun_->call, begun_->number};
    const std::uint64_t then = now_;
    sample(process, begun_->thread, begun_->labels, key, ns, LS_STILL_WAITING, begun_->number);
    now_ = begun_->from = then;
  }
  take_out();
  return {};
}

void MadeUpWaits::end_wait() {
  const Begun begun = *std::exchange(begun_, std::nullopt);
  const Process& process = processes_[begun.process];
  const std::size_t thread = begun.thread;
  Labels labels = begun.labels;
  const ls_sample_kind kind = begun.kind;
  const std::int32_t call = begun.call;
  const std::uint64_t number = begun.number;
  const std::uint64_t length = begun.ns;
  const std::uint64_t ns = begun.began + length - begun.from;
  const WaitPlace place{process.pid, kind, call, labels.tenant};
  const Key key{process.key(), kind, call, number};
  ended_[place].add(ns);
  if (chance(faults_.total_without_room)) {
    untold_ns_[kind] += ns;
  } else {
    WaitTotal& total = totals_[key];
    total.process = process.key();
    total.kind = kind;
    total.system_call = call;
    total.labels = number;
    total.time_ns += ns;
    ++total.count;
    ++total.lengths[ls_wait_bucket(length)];
  }
  if (kind == LS_RUNNABLE && below(2) == 0) {
    const std::uint64_t first = below(length);
    const std::uint64_t its = std::min(first, ns);
    if (first != 0) blame(place, key, its);
    blame(place, key, ns - its);
  } else {
    blame(place, key, ns);
  }
  const std::uint64_t weight = std::max(length, kPeriodNs);
  if (below(weight) >= length) return;
  if (chance(faults_.sample_otherwise)) labels = new_labels();
  sample(process, thread, labels, key, weight, 0);
}

void MadeUpWaits::change_something() {
  const std::size_t which = below(processes_.size());
  const std::uint64_t what = below(10);
  if (what < 2 && processes_.size() < 8) {
    Process child{new_number(), ++lives_, {processes_[which].threads[0]}};
    if (!chance(faults_.fork_lost)) handler_->on_fork(Pid{processes_[which].pid}, child.key());
    processes_.push_back(std::move(child));
  } else if (what < 5) {
    processes_[which].threads.push_back(new_labels());
  } else if (what < 6) {
    processes_[which].threads = {Labels()};
    processes_[which].life = ++lives_;
    handler_->on_exec(processes_[which].key(), {});
  } else if (what < 7 && which != 0) {
    handler_->on_exit(Pid{processes_[which].pid});
    processes_.erase(processes_.begin() + static_cast<std::ptrdiff_t>(which));
  } else if (what < 8) {
    take_out();
  }
}

// Totals of the kernel come out while the recording goes on.
void MadeUpWaits::take_out() {
  const std::vector<WaitTotal> waits = wait_totals();
  const std::vector<BlameTotal> blame = blame_totals();
  totals_.clear();
  blames_.clear();
  untold_ns_.clear();
  handler_->on_waits(waits, blame);
}

Status MadeUpWaits::drain(EventHandler& handler, std::chrono::milliseconds timeout) {
  handler_ = &handler;
  // Nothing else is to come before these are over.
  if (waits_left_ == 0) waits_left_ = timeout.count();
  while (waits_left_ > 0 && !is_at_cut_) {
    if (!begun_) begin_wait();
    if (!pass_until_cut()) break;
    end_wait();
    --waits_left_;
    if (chance(0.1)) change_something();
  }
  return {};
}

// Some threads wait still.
Status MadeUpWaits::stop(EventHandler& handler) {
  handler_ = &handler;
  for (const Process& process : processes_) {
    for (std::size_t thread = 0; thread < process.threads.size(); ++thread) {
      if (below(2) == 0) continue;
      const std::uint64_t ns = 1 + below(1'000'000'000);
      const Key key{process.key(), LS_WAITING, SYS_futex, 0};
      open_[{process.pid, LS_WAITING, SYS_futex, process.threads[thread].tenant}].add(ns);
      sample(process, thread, process.threads[thread], key, ns, LS_STILL_WAITING);
    }
  }
  return {};
}

std::uint64_t MadeUpWaits::unnamed_blame_ns() const {
  std::uint64_t sum = 0;
  for (const auto& [number, ns] : blamed_on_) {
    if (number >= kFirstLabelNumber && !ever_told_.contains(number)) sum += ns;
  }
  return sum;
}

Counters MadeUpWaits::counters() const {
  Counters counters;
  counters.taken = taken_;
  counters.outcomes = outcomes_;
  counters.dropped = dropped_;
  return counters;
}

std::vector<WaitTotal> MadeUpWaits::wait_totals() const {
  std::vector<WaitTotal> all;
  for (const auto& [key, total] : totals_) all.push_back(total);
  for (const auto& [kind, ns] : untold_ns_) {
    WaitTotal made;
    made.kind = kind;
    made.labels = kUnknownLabels;
    made.time_ns = ns;
    all.push_back(made);
  }
  return all;
}

std::vector<BlameTotal> MadeUpWaits::blame_totals() const {
  std::vector<BlameTotal> all;
  for (const auto& [pair, sum] : blames_) {
    const auto& [key, who] = pair;
    BlameTotal made;
    made.wait.process = std::get<0>(key);
    made.wait.kind = std::get<ls_sample_kind>(key);
    made.wait.system_call = std::get<2>(key);
    made.wait.labels = std::get<3>(key);
    made.wait.time_ns = sum.time_ns;
    made.wait.count = sum.count;
    made.kind = std::get<ls_blame_kind>(who);
    made.process = std::get<1>(who);
    made.labels = std::get<2>(who);
    made.name = std::get<3>(who);
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace labelscope::test
