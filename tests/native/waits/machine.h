// A machine that the programs of bpf/programs see: processors, threads with labels, and a clock.
// Tests let threads run, wait, wake each other and end, and look at what the programs have added up
// and sent. Only one may exist at a time, since the programs' maps are functions without a context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpf/sampling/wait_cut.h"
#include "bpf/wire/counters.h"
#include "bpf/wire/wire.h"
#include "customlabels/label_abi.h"
#include "native/waits/fake_maps.h"
#include "native/waits/native_waits.h"

namespace labelscope::test {

using Labels = std::vector<std::pair<std::string, std::string>>;

// How a thread leaves its processor.
enum class Leaving { kPreempted, kYields, kWaits, kBlocked, kStopped, kFrozen, kDead };

// What the machine knows of a thread. Its labels are laid out as a writer does.
struct FakeThread {
  task_struct task{};
  Labels labels;
  custom_labels_labelset_t set{};
  std::vector<custom_labels_label_t> slots;
  const custom_labels_labelset_t* variable = nullptr;
  bool in_memory = true;   // the page of `variable`
  bool can_come = true;    // if it is not: a page fault brings it in
  bool in_kernel = false;  // it does not come back to user mode when it gets a processor
  int processor = -1;      // that it has
  pid_namespace space{};   // in which it has its number
  pid number{};
};

class Machine {
 public:
  explicit Machine(bool blames = true, unsigned processors = 2);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Adds a process of one thread, which is recorded unless that is said.
  FakeThread& process(int pid, bool recorded = true);
  FakeThread& thread(int pid, int tid);
  void record(int pid, std::uint32_t life = 0);
  void forget(int pid);
  void label(FakeThread& thread, Labels labels);
  void label(FakeThread& thread, const std::string& value) { label(thread, {{"tenant", value}}); }
  // It is in this system call from now on, or in none (-1).
  static void call(FakeThread& thread, long number) {
    thread.task.registers.orig_ax = static_cast<unsigned long>(number);
  }

  void pass(std::uint64_t ns);
  std::uint64_t now() const { return fake_machine.now_ns; }

  // The thread on this processor leaves it for `next`; null is the idle task.
  void change(unsigned processor, FakeThread* next, Leaving how = Leaving::kWaits);
  // The thread on `processor` wakes this one, or the interrupt there does. An interrupt is given by
  // its bits of the preempt count.
  void wake(FakeThread& thread, unsigned processor, std::uint32_t interrupt = 0,
            bool by_timer = false);
  // Does something in an interrupt, or if there is none in the thread there.
  template <class Action>
  void interrupt(unsigned processor, std::uint32_t interrupt, const Action& action) {
    see(processor);
    processors_[processor].preempt_count = interrupt;
    action();
    processors_[processor].preempt_count = 0;
  }
  // It is created, and waits for its first processor.
  void begin(FakeThread& thread);
  // The thread on this processor exits; it still runs until it leaves the processor as kDead. Its
  // memory is gone.
  void exit(unsigned processor);
  void free(FakeThread& thread);
  // Threads run their work on the way back to user mode.
  void return_to_user(unsigned processor);

  // Lets labels with these keys count, or all but those (bpf/load/key_choice.h).
  static void choose(ls_choice which, ls_key_rule how, const std::vector<std::string>& keys);

  // What was added up, under the first value of each set, and "#14" for outcomes.
  struct Wait {
    int pid;
    std::string labels;
    int call;
    unsigned part;
    auto operator<=>(const Wait&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const Wait& wait) {
      return out << wait.pid << ' ' << wait.labels << " call " << wait.call << " part "
                 << wait.part;
    }
  };
  struct Sum {
    std::uint64_t ns = 0;
    std::uint64_t count = 0;
    auto operator<=>(const Sum&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const Sum& sum) {
      return out << sum.ns << " ns in " << sum.count;
    }
  };
  std::map<Wait, Sum> waits(const std::function<bool(const ls_wait_key&)>& wanted = {});
  using Blame = std::pair<Wait, std::string>;
  // By who is to blame: "thread globex", "timer", "process name", "late" if labels are not known.
  std::map<Blame, Sum> blame(const std::function<bool(const ls_blame_key&)>& wanted = {});
  // The sum over reasons and parts.
  std::uint64_t blamed(const std::string& waiter, const std::string& by);
  std::uint64_t waited(const std::string& labels, unsigned part);
  std::uint64_t waited(const std::string& labels);
  ls_off_cpu known(const FakeThread& thread) {
    return value_of<ls_off_cpu>("off_cpu_threads", static_cast<std::uint32_t>(thread.task.pid));
  }
  bool knows(const FakeThread& thread);
  std::uint64_t counted(std::uint32_t counter);
  // Records of this type, since the last call.
  template <class Record>
  std::vector<Record> sent(std::uint32_t type) {
    read_ring();
    std::vector<Record> all;
    std::erase_if(records_, [&](const Bytes& record) {
      if (object_of<ls_record_head>(record).type != type) return false;
      all.push_back(object_of<Record>(record));
      return true;
    });
    return all;
  }
  // How often the labels of a number were sent.
  std::size_t times_named(const std::string& labels);

  // Cuts the recording as soon as the time is a multiple of LS_GENERATIONS.
  WaitCut cut();
  // What user space reads at a cut. Those of the windows before are taken out.
  WaitingEntries entries();
  std::map<Wait, Sum> take_waits();
  std::map<Blame, Sum> take_blame();
  std::vector<ThreadWaitsRecord> ended();
  std::string name_of(std::uint64_t number);

  // Lets only so many programs run of those that measure waits, in the order in which they are
  // attached (bpf/load/wait_programs.h).
  void attach(std::size_t programs) { attached_ = programs; }

  static constexpr int kProcessors = 4;
  FakeThread* running(unsigned processor) { return processors_[processor].thread; }
  task_struct* task_of(int number);
  bool is_there(const void* address, std::uint32_t size, bool bring_in);

 private:
  struct Processor {
    cfs_rq queue{};
    std::uint32_t preempt_count = 0;
    task_struct idle{};
    FakeThread* thread = nullptr;
  };
  task_struct* current(unsigned processor);
  void see(unsigned processor);
  void read_ring();
  Wait wait_of(const ls_wait_key& key);

  bool is_attached(std::string_view program) const;

  bool blames_;
  std::size_t attached_ = ~std::size_t{0};
  WaitCut cut_{};
  pid_namespace nowhere_{};
  pid nobody_{};
  Processor processors_[kProcessors];
  std::deque<FakeThread> threads_;
  std::map<int, std::unique_ptr<signal_struct>> signals_;
  std::vector<Bytes> records_;
  std::map<std::uint64_t, std::string> names_;
  std::map<std::uint64_t, std::size_t> named_;
};

}  // namespace labelscope::test
