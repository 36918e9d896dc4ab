// WaitingThreads holds the rate of samples of waits, and has the waits that no switch of a thread
// shows whole: those that have begun before the recording, and those that have not ended when it
// does.
//
//   recording             |------------------------------------------|
//   thread A      ~~~~~~~~~~~~~~~~x                                     begin(): it waits already
//   thread B                               x~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~   take_open()
//   thread C      ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~   both
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "bpf/load/bpf_object.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"
#include "sampling/sampler.h"
#include "sampling/snapshot.h"

namespace labelscope {

class TaskIterators;

class WaitingThreads {
 public:
  // `object` must outlive this one. Construct it before labelscope gives up rights.
  WaitingThreads(BpfObject& object, const SamplerOptions& options);
  ~WaitingThreads();
  WaitingThreads(const WaitingThreads&) = delete;
  WaitingThreads& operator=(const WaitingThreads&) = delete;

  // Lets short waits weigh one period, until their samples exceed the budget.
  Status begin();
  // Call it every few milliseconds with the number of samples that the kernel has taken so far.
  Status hold_budget(std::uint64_t taken);
  // How often short waits got another weight.
  std::uint64_t changes() const { return changes_; }
  // Notes which threads of the process wait now. Waits must be counted already.
  Status begin(Pid pid);
  // Makes a sample of each wait that is open, with the labels that its thread has now. It has no
  // stack, because no other thread can take it. Waits must not be counted any more.
  void take_open(const std::function<void(const Sample&)>& take);

 private:
  std::unordered_map<std::int32_t, ThreadSnapshot> read_threads(Pid pid);

  // So many samples a second cost less than a tenth of a processor. Each thread has two for each
  // period at most, but there may be thousands of threads.
  static constexpr double kMostASecond = 5000;
  static constexpr std::chrono::milliseconds kInterval{100};

  BpfObject& object_;
  std::uint64_t period_ns_;
  std::uint64_t unit_ns_;
  std::uint64_t taken_ = 0;  // at last_
  std::chrono::steady_clock::time_point last_{};
  std::uint64_t changes_ = 0;
  bool wants_stacks_;
  std::unique_ptr<TaskIterators> iterators_;  // null if the kernel refuses them
};

}  // namespace labelscope
