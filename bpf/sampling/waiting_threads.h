// WaitingThreads holds the rate of samples of waits, and has the waits that no switch of a thread
// shows whole: those that have begun before the recording, and those that have not ended when it
// does.
//
//   recording             |------------------------------------------|
//   thread A      ~~~~~~~~~~~~~~~~x                                     begin(): it waits already
//   thread B                               x~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~   take_open()
//   thread C      ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~   both
//
// It also cuts the recording (programs/wait_window.bpf.h): begin_cut() lets waits that end later
// count in the next window, and read_at_cut() reads what the one before has.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpf/load/bpf_object.h"
#include "bpf/sampling/wait_accounts.h"
#include "bpf/sampling/wait_cut.h"
#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/result.h"
#include "sampling/sampler.h"

namespace labelscope {

class TaskIterators;

class WaitingThreads {
 public:
  using Take = std::function<void(const Sample&)>;
  // `object` must outlive this one. Construct it before labelscope gives up rights.
  WaitingThreads(BpfObject& object, const SamplerOptions& options);
  ~WaitingThreads();
  WaitingThreads(const WaitingThreads&) = delete;
  WaitingThreads& operator=(const WaitingThreads&) = delete;

  // Lets short waits weigh one period, until their samples exceed the budget.
  Status begin();
  // Holds the budget of samples. If all records were read that were there (which name the labels of
  // totals), takes totals out of the kernel while they are many. Call it every few milliseconds.
  Status work(EventHandler& handler, bool all_read);
  // How often short waits got another weight.
  std::uint64_t changes() const { return changes_; }
  // Notes which threads of the process wait now, also for a processor. Waits must be counted
  // already.
  Status begin(Pid pid, const WaitAccounts& accounts);
  // How many waits were not noted, because there was no room for their threads.
  std::uint64_t without_room() const { return without_room_; }

  // A cut has three steps. begin_cut() ends the window. read_at_cut(), which waits until no program
  // adds to that window any more, returns its threads; and reads the labels of those that wait and
  // of which the programs know none. take_old() hands out the totals, and returns of how many waits
  // nobody knows the labels.
  Status begin_cut();
  std::vector<ThreadAtCut> read_at_cut();
  Status take_old(EventHandler& handler);
  const WaitCut& cut() const { return cut_; }
  bool is_cutting() const { return is_cutting_; }
  // Makes samples of what of a thread's waits is of the window, beside its totals.
  void take_at_cut(const ThreadAtCut& thread, const WaitParts& open, const Take& take) const;
  // Numbers of label sets that threads have, or had when they last waited.
  std::vector<std::uint64_t> labels_in_use() const;
  // Removes threads that are known, have not waited at the last cuts, and are in no list.
  void forget_idle(std::span<const ThreadAtCut> threads, const WaitAccounts::Times& times);
  // Time of waits for whose totals there was no room, since the last call.
  std::vector<WaitTotal> lost_since();

  // The end has three steps: look(), while waits still count, reads the labels of all threads that
  // wait. close() notes which waits are open, also for `accounts`; call it when waits have just
  // ceased to count. Then take_open() makes a sample of each open wait (LS_STILL_WAITING), and of
  // the waits of threads that have not come back to user mode by now. Such a sample has no stack,
  // because no other thread can take it.
  void look();
  void close(std::uint64_t now_ns, WaitAccounts& accounts);
  void take_open(const Take& take);
  // Call it before totals() and take_open(): what threads read of their labels from then on adds to
  // no total any more.
  void settle_late();
  // Returns what the kernel has added up and work() has not handed out. Those of which it knows no
  // more than the kind have the process 0.
  std::vector<WaitTotal> totals();
  std::vector<BlameTotal> blame();

 private:
  // What the kernel's iterator says of a thread. Only the handler knows what the bytes mean.
  struct SeenThread {
    std::string name;
    char state = '\0';
    bool ran = false;
    ls_outcome outcome = LS_UNLABELLED;
    std::uint32_t flags = 0;
    std::vector<std::byte> label_bytes;
  };
  // What a thread's labels were while it was in the wait that had begun then.
  struct Seen {
    std::uint64_t left_ns = 0;
    SeenThread thread;
  };
  std::unordered_map<std::int32_t, SeenThread> read_threads(Pid pid, bool with_labels);
  Status hold_budget();
  Status take_out(EventHandler& handler);
  // Takes the totals of all generations but the current one, which nobody adds to any more.
  void hand_out_old(EventHandler& handler);
  using Wanted = std::function<bool(Tid, const ls_off_cpu&)>;
  void look(const WaitingEntries& first, const Wanted& wanted);
  void forget_seen(const WaitingEntries& first, const WaitingEntries& second);
  std::vector<WaitTotal> lost_of(const ls_totals_made& before) const;
  using BlameEntry = std::pair<ls_blame_key, ls_blame_total>;
  // Gives blame its labels that were missing when it came. What has none yet waits in late_.
  std::vector<BlameEntry> with_labels(std::vector<BlameEntry> entries);
  // Returns false if the thread is known already, or there is no room for it.
  Result<bool> note(Tid tid, ls_off_cpu thread);
  // `wait` has what all entries of the process have in common.
  Status begin_queued(const std::vector<ThreadTime>& runnable, ls_off_cpu wait);
  void take(Tid tid, Pid pid, const OpenWait& wait, const WaitParts& parts, std::uint32_t flags,
            const Take& take) const;
  void take_late(Tid tid, Pid pid, const ls_late_waits& late, const Take& take) const;

  // So many samples a second cost less than a tenth of a processor. Each thread has two for each
  // period at most, but there may be thousands of threads.
  static constexpr double kMostASecond = 5000;
  static constexpr std::chrono::milliseconds kInterval{100};
  // More pairs of label sets than user space reads and adds up at leisure.
  static constexpr double kMostPairsASecond = 10'000;
  // A program that has found a total has added to it after so long. It runs with interrupts off; or
  // it is a thread's own work, which may lose its processor between two instructions, and then adds
  // to a total that has been taken out: this is as rare as it is little time.
  static constexpr std::chrono::milliseconds kQuiet{20};
  static constexpr unsigned kCutsUntilGone = 8;

  BpfObject& object_;
  std::uint64_t period_ns_;
  std::uint64_t unit_ns_;
  std::uint64_t taken_ = 0;  // at last_
  std::chrono::steady_clock::time_point last_{};
  std::chrono::steady_clock::time_point last_taken_{};
  std::chrono::steady_clock::time_point generation_began_{};
  std::uint64_t changes_ = 0;
  std::uint64_t without_room_ = 0;
  std::uint64_t window_ = 0;              // in which waits count now (wire.h)
  WaitCut cut_{};                         // the last one
  bool is_cutting_ = false;               // it is not over
  std::chrono::steady_clock::time_point cut_began_{};
  ls_totals_made lost_{};                 // what lost_since() has returned
  // Threads that were in no list of threads at the last so many cuts, by number, begin, and last
  // switch.
  using IdleThread = std::tuple<Tid, std::uint64_t, std::uint64_t>;
  std::map<IdleThread, unsigned> idle_;
  bool has_old_ = false;                  // those of the other generation are to be taken out
  ls_totals_made made_{};                 // when the generation changed
  std::vector<BlameEntry> late_;          // blame whose labels are not known yet
  std::set<std::uint64_t> late_numbers_;  // those that were known the last time
  std::uint64_t closed_ns_ = 0;
  std::unordered_map<std::int32_t, Seen> seen_;  // by tid
  std::vector<std::pair<Tid, ls_off_cpu>> open_;
  bool wants_stacks_;
  std::unique_ptr<TaskIterators> iterators_;  // null if the kernel refuses them
};

}  // namespace labelscope
