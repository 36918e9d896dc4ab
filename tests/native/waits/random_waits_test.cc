// The programs of waits and blame against a model of a few lines: threads of three processes run,
// wait, wake each other, change their labels, come and end, by chance. At the end all totals must
// be those of the model, to the nanosecond; and if the recording is cut again and again, those of
// each window, the waits that were open at its end, and the account of each thread.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bpf/sampling/wait_accounts.h"
#include "native/waits/machine.h"
#include "sampling/sample_kind.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

constexpr unsigned kProcessors = 3;
constexpr int kForeign = 300;

using Machine = labelscope::test::Machine;  // not that of ELF files
using Wait = Machine::Wait;
using Sum = Machine::Sum;

std::string text_of(const Wait& wait) {
  std::ostringstream text;
  text << wait;
  return text.str();
}
std::string text_of(const Machine::Blame& blame) {
  return text_of(blame.first) + " because of " + blame.second;
}

template <class Key>
void compare(std::map<Key, Sum> found, std::map<Key, Sum> expected) {
  std::erase_if(expected, [](const auto& entry) { return entry.second.count == 0; });
  for (const auto& [key, sum] : expected) {
    INFO(text_of(key));
    CHECK(found[key] == sum);
    found.erase(key);
  }
  for (const auto& [key, sum] : found) {
    INFO(text_of(key) << " is too much: " << sum);
    CHECK(sum.count == 0);
  }
}

std::string outcome(int number) { return "#" + std::to_string(number); }

class Model {
 public:
  explicit Model(unsigned seed, bool cuts = false) : random_(seed), cuts_(cuts) {
    for (const int pid : {100, 200, kForeign}) {
      add(machine_.process(pid, pid != kForeign));
      for (int i = 1; i < 3; ++i) add(machine_.thread(pid, pid + i));
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      machine_.pass(1 + one_of(5'000));
      if (cuts_ && one_of(12) == 0) is_cutting_ ? end_cut() : begin_cut();
      step();
    }
    if (is_cutting_) end_cut();
    // All come back, so that no label is missing any more.
    for (std::size_t i = 0; i < known_.size(); ++i) {
      if (known_[i].ended || known_[i].thread->processor >= 0) continue;
      machine_.pass(1000);
      come(0, &known_[i], Leaving::kPreempted);
    }
    come(0, nullptr, Leaving::kPreempted);
    if (cuts_) end_accounts();
  }

  Machine& machine() { return machine_; }
  const std::map<Wait, Sum>& waits() const { return waits_; }
  const std::map<Machine::Blame, Sum>& blame() const { return blame_; }
  int windows() const { return windows_; }

 private:
  void step() {
    {
      const unsigned processor = one_of(kProcessors);
      switch (one_of(10)) {
        case 0:
          relabel(processor);
          break;
        case 1:
          hide(processor);
          break;
        case 2:
        case 3:
        case 4:
          wake(processor);
          break;
        case 5:
          end(processor);
          break;
        default:
          change(processor);
      }
    }
  }

  struct Known {
    FakeThread* thread = nullptr;
    bool seen = false;  // the programs know it
    bool exited = false;
    bool ended = false;
    // While it is away.
    std::uint64_t left = 0;
    std::optional<std::uint64_t> woken;
    std::string labels;       // of this wait
    std::string last_labels;  // before its exit
    int call = 0;
    unsigned part = 0;
    std::string waker;
  };
  struct Turn {
    std::uint64_t end = 0;
    std::string who;
  };

  unsigned one_of(unsigned count) { return static_cast<unsigned>(random_() % count); }
  void add(FakeThread& thread) {
    known_.emplace_back().thread = &thread;
    machine_.label(thread, "start");
  }
  static bool is_recorded(const Known& known) { return known.thread->task.tgid != kForeign; }
  Known* on(unsigned processor) {
    FakeThread* thread = machine_.running(processor);
    if (thread == nullptr) return nullptr;
    return &*std::ranges::find(known_, thread, &Known::thread);
  }
  // The labels that are read of a thread which runs, if they are there.
  static std::string labels_of(const Known& known) {
    return known.thread->labels.empty() ? outcome(LS_UNLABELLED)
                                        : known.thread->labels[0].second;
  }
  // A turn is looked up, and a waker's labels are read.
  static std::string now_of(const Known* known, bool is_turn) {
    if (known == nullptr) return "kernel";
    if (!is_recorded(*known)) return "process name" + std::to_string(kForeign);
    std::string labels = labels_of(*known);
    if (known->exited && (known->seen || is_turn)) {
      labels = known->seen ? known->last_labels : outcome(LS_UNREADABLE_VANISHED);
    } else if (!known->thread->in_memory) {
      labels = outcome(LS_UNREADABLE_NOT_RESIDENT);
    }
    return "thread " + std::to_string(known->thread->task.tgid) + " " + labels;
  }

  void relabel(unsigned processor) {
    static const char* const kValues[] = {"acme", "globex", "initech", ""};
    Known* known = on(processor);
    if (known == nullptr || known->exited) return;
    const std::string value = kValues[one_of(4)];
    if (value.empty())
      machine_.label(*known->thread, Labels{});
    else
      machine_.label(*known->thread, value);
  }
  // Its page is missing until the thread itself reads it.
  void hide(unsigned processor) {
    Known* known = on(processor);
    if (known != nullptr && is_recorded(*known)) known->thread->in_memory = false;
  }
  void wake(unsigned processor) {
    Known& known = known_[one_of(static_cast<unsigned>(known_.size()))];
    if (known.ended || known.thread->processor >= 0 || known.left == 0) return;
    const unsigned by = one_of(4);
    if (by == 0)
      machine_.wake(*known.thread, processor, 0x00010000, true);
    else if (by == 1)
      machine_.wake(*known.thread, processor, 0x100);
    else
      machine_.wake(*known.thread, processor);
    known.waker = by == 0 ? "timer" : by == 1 ? "interrupt" : now_of(on(processor), false);
    if (!known.woken) known.woken = machine_.now();
  }
  // The thread exits, and goes for good some time later.
  void end(unsigned processor) {
    Known* known = on(processor);
    const auto alive = std::ranges::count(known_, false, &Known::ended);
    if (known == nullptr || alive < 5 || one_of(4) != 0) return;
    const int pid = known->thread->task.tgid;
    const int tid = known->thread->task.pid;
    if (tid == pid) return;  // its process stays
    if (!known->exited) {
      machine_.exit(processor);
      known->exited = true;
      return;
    }
    Known* next = away();
    known->ended = true;
    come(processor, next, Leaving::kDead);
    machine_.free(*known->thread);
    // Its number is used again at once, in any of the processes.
    FakeThread& other = machine_.thread(100 * static_cast<int>(1 + one_of(3)), tid);
    add(other);
    machine_.pass(1);
    machine_.begin(other);
    Known& fresh = known_.back();
    fresh.seen = true;
    fresh.left = machine_.now();
    fresh.woken = fresh.left;
    fresh.call = LS_CALL_NONE;
    fresh.part = LS_PART_WAITING;
    fresh.labels = "start";
    fresh.last_labels = "start";
  }
  Known* away() {
    std::vector<Known*> all;
    for (Known& known : known_)
      if (!known.ended && known.thread->processor < 0) all.push_back(&known);
    return all.empty() ? nullptr : all[one_of(static_cast<unsigned>(all.size()))];
  }
  void change(unsigned processor) {
    static constexpr Leaving kWays[] = {Leaving::kPreempted, Leaving::kWaits, Leaving::kBlocked,
                                        Leaving::kYields};
    Known* known = on(processor);
    if (known != nullptr) Machine::call(*known->thread, static_cast<long>(one_of(4)) - 1);
    come(processor, one_of(4) == 0 ? nullptr : away(), kWays[one_of(4)]);
  }

  // What the programs must make of a switch.
  void come(unsigned processor, Known* next, Leaving how) {
    const std::uint64_t now = machine_.now();
    Known* leaves = on(processor);
    if (leaves != nullptr && how != Leaving::kDead) leave(*leaves, how, now);
    turns_[processor].push_back({now, now_of(leaves, true)});
    if (next != nullptr && is_recorded(*next) && next->seen && next->left != 0) back(processor, *next, now);
    machine_.change(processor, next == nullptr ? nullptr : next->thread, how);
    if (next != nullptr) next->left = 0;
  }
  void leave(Known& known, Leaving how, std::uint64_t now) {
    const bool runnable = how == Leaving::kPreempted || how == Leaving::kYields;
    // One that exits before it has left a processor is not worth to be known.
    known.seen |= !known.exited;
    known.left = now;
    known.woken.reset();
    if (runnable) known.woken = now;
    known.waker.clear();
    const auto number = static_cast<int>(known.thread->task.registers.orig_ax);
    known.call = number == -1 ? (runnable ? LS_CALL_NONE : LS_CALL_FAULT) : number;
    known.part = how == Leaving::kBlocked ? LS_PART_UNINTERRUPTIBLE : LS_PART_WAITING;
    known.labels = known.exited ? outcome(LS_UNREADABLE_VANISHED) : labels_of(known);
    const bool is_labelled = !known.thread->labels.empty();
    if (!known.exited && (!runnable || is_labelled || known.last_labels.empty()))
      known.last_labels = known.labels;
  }
  void back(unsigned processor, const Known& known, std::uint64_t now) {
    const std::uint64_t woken = known.woken.value_or(now);
    const Wait wait{known.thread->task.tgid, known.labels, known.call, known.part};
    Wait queue = wait;
    queue.part = LS_PART_RUNNABLE;
    // What of it was before the last cut is of windows before, but it counts here.
    const std::uint64_t cut = cut_.cut_ns;
    const auto add_part = [&](const Wait& part, std::uint64_t from, std::uint64_t until_ns) {
      if (until_ns == from) return;
      waits_[part].ns += until_ns - std::min(std::max(from, cut), until_ns);
      ++waits_[part].count;
    };
    add_part(wait, known.left, woken);
    add_part(queue, woken, now);
    const std::uint64_t left = std::max(known.left, cut);
    if (!known.waker.empty() && woken > left) add(blame_[{wait, known.waker}], woken - left);
    blame_queue(processor, queue, std::max(woken, cut), now);
  }
  void blame_queue(unsigned processor, const Wait& queue, std::uint64_t woken, std::uint64_t now) {
    std::uint64_t until = now;
    for (auto turn = turns_[processor].rbegin(); turn != turns_[processor].rend(); ++turn) {
      const auto before = turn + 1;
      const std::uint64_t begun = before == turns_[processor].rend() ? 0 : before->end;
      const std::uint64_t begin = std::max(begun, woken);
      if (until > begin) add(blame_[{queue, turn->who}], until - begin);
      until = std::min(until, begin);
      if (begin == woken) break;
    }
  }
  static void add(Sum& sum, std::uint64_t ns) {
    if (ns == 0) return;
    sum.ns += ns;
    ++sum.count;
  }

  // ---- windows

  struct Open {
    std::string labels;
    WaitParts parts{};
  };
  void begin_cut() {
    for (const ThreadWaitsRecord& record : machine_.ended()) accounts_.end(record);
    cut_ = machine_.cut();
    is_cutting_ = true;
    ended_waits_ = std::exchange(waits_, {});
    ended_blame_ = std::exchange(blame_, {});
    open_.clear();
    times_.clear();
    for (const Known& known : known_) {
      if (known.ended || !is_recorded(known)) continue;
      const task_struct& task = known.thread->task;
      // One that exits may be in no list any more.
      if (!known.exited || one_of(2) == 0)
        times_[Pid{task.tgid}].push_back({Tid{task.pid}, task.se.sum_exec_runtime});
      if (known.left == 0 || !known.seen) continue;
      Open open{known.labels, {}};
      const std::uint64_t from = std::max(known.left, cut_.began_ns);
      const std::uint64_t woken = known.woken.value_or(cut_.cut_ns);
      if (woken > from) open.parts[known.part] = woken - from;
      open.parts[LS_PART_RUNNABLE] += cut_.cut_ns - std::max(woken, from);
      open_[task.pid] = open;
    }
  }
  void end_cut() {
    const WaitingEntries first = machine_.entries();
    machine_.pass(1 + one_of(5'000));
    if (one_of(2) == 0) step();
    const WaitingEntries second = machine_.entries();
    std::vector<ThreadAtCut> ended;
    for (const ThreadWaitsRecord& record : machine_.ended())
      ended.push_back(thread_at(cut_, record));
    std::map<int, Open> open;
    const auto hand_out = [&](const ThreadAtCut& thread, const WaitParts& parts) {
      for (const std::uint64_t count : thread.late.count) CHECK(count == 0);
      if (!thread.open) return;
      CHECK_FALSE(open.contains(raw(thread.tid)));
      open[raw(thread.tid)] = {machine_.name_of(thread.open->labels), parts};
    };
    const ThreadLedgers ledgers = accounts_.cut(
        cut_, threads_at(cut_, first, second), ended, times_,
        [](Pid pid) { return ProcessKey{pid, 0}; }, hand_out);
    for (const ThreadLedger& thread : ledgers.threads()) CHECK(thread.residue_ns() == 0);
    CHECK(open.size() == open_.size());
    const std::string later = machine_.name_of(LS_LABELS_LATER);
    for (const auto& [tid, expected] : open_) {
      INFO("thread " << tid);
      CHECK(open[tid].parts == expected.parts);
      if (open[tid].labels != later) CHECK(open[tid].labels == expected.labels);
    }
    compare(machine_.take_waits(), ended_waits_);
    compare(machine_.take_blame(), ended_blame_);
    is_cutting_ = false;
    ++windows_;
  }
  void end_accounts() {
    for (const ThreadWaitsRecord& record : machine_.ended()) accounts_.end(record);
    accounts_.close(machine_.entries(), machine_.now());
    for (const Known& known : known_) {
      if (known.ended || !is_recorded(known)) continue;
      const task_struct& task = known.thread->task;
      const ThreadTime time{Tid{task.pid}, task.se.sum_exec_runtime};
      accounts_.freeze({Pid{task.tgid}, 0}, {&time, 1}, machine_.now());
    }
    const ThreadLedgers ledgers = accounts_.take();
    CHECK_FALSE(ledgers.threads().empty());
    for (const ThreadLedger& thread : ledgers.threads()) CHECK(thread.residue_ns() == 0);
  }

  std::mt19937 random_;
  bool cuts_;
  bool is_cutting_ = false;
  int windows_ = 0;
  WaitCut cut_{};
  WaitAccounts accounts_;
  WaitAccounts::Times times_;
  std::map<int, Open> open_;
  std::map<Wait, Sum> ended_waits_;
  std::map<Machine::Blame, Sum> ended_blame_;
  Machine machine_{true, kProcessors};
  std::deque<Known> known_;
  std::vector<Turn> turns_[kProcessors];
  std::map<Wait, Sum> waits_;
  std::map<Machine::Blame, Sum> blame_;
};

}  // namespace

TEST_CASE("random waits: all totals, and all blame, are those of a simple model") {
  const auto seed = static_cast<unsigned>(GENERATE(range(1, 101)));
  INFO("seed " << seed);
  Model model(seed);
  model.run(400);
  compare(model.machine().waits(), model.waits());
  compare(model.machine().blame(), model.blame());
  CHECK(model.machine().counted(LS_COUNT_SWITCHES_NOT_SEEN) == 0);
}

TEST_CASE("random waits: each window has its part of all waits, however often there is a cut") {
  const auto seed = static_cast<unsigned>(GENERATE(range(1, 201)));
  INFO("seed " << seed);
  Model model(seed, true);
  model.run(400);
  REQUIRE(model.windows() > 5);
  compare(model.machine().take_waits(), {});
  compare(model.machine().waits(), model.waits());
  compare(model.machine().blame(), model.blame());
}
