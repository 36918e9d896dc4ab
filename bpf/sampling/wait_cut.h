// What is read of threads when a recording of waits is cut. programs/wait_window.bpf.h has the
// drawing: what of a wait lies before the cut, its thread's entry has, or what the thread has left
// when it came back.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpf/wire/records.h"
#include "bpf/wire/wire.h"
#include "labelscope/ids.h"
#include "sampling/process_key.h"

namespace labelscope {

// A wait that was open at some time.
struct OpenWait {
  std::uint64_t left_ns = 0;
  std::uint64_t woken_ns = 0;
  std::uint64_t left_ran_ns = 0;
  std::uint64_t labels = 0;  // a number, or LS_LABELS_LATER
  std::uint32_t life = 0;
  std::int32_t system_call = 0;
  std::uint32_t part = 0;
};
OpenWait open_wait(const ls_off_cpu& thread);
OpenWait open_wait(const ls_divided_wait& divided);

using WaitParts = std::array<std::uint64_t, LS_WAIT_PARTS>;
// Returns what of the wait lies between these times.
WaitParts parts_of(const OpenWait& wait, std::uint64_t from_ns, std::uint64_t until_ns);

// A thread as it was at a cut.
struct ThreadAtCut {
  Tid tid{};
  ProcessKey process;
  ls_wait_account account{};
  std::optional<OpenWait> open;
  ls_late_waits late{};  // of the window that ends; without any, it has no count
  std::uint64_t switched_ns = 0;  // its last switch, which may be behind the cut
  std::uint64_t left_ran_ns = 0;
  // Of a thread that has ended since: when, and its thread_ns then.
  std::uint64_t ended_ns = 0;
  std::uint64_t ended_ran_ns = 0;
};

// What is cut: the window that began at one time and ends at the other.
struct WaitCut {
  std::uint64_t began_ns = 0;
  std::uint64_t cut_ns = 0;
  std::uint32_t slot = 0;  // where its sums are
};

using WaitingEntries = std::vector<std::pair<Tid, ls_off_cpu>>;
// Makes threads of entries that were read twice, kQuiet behind the cut. One that is not there the
// second time has ended, and its record has all. Those that began behind the cut are left out.
std::vector<ThreadAtCut> threads_at(const WaitCut& cut, const WaitingEntries& first,
                                    const WaitingEntries& second);
ThreadAtCut thread_at(const WaitCut& cut, const ThreadWaitsRecord& record);

}  // namespace labelscope
