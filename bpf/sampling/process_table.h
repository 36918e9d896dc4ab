// This class has what user space knows of the sampled processes. The BPF programs change their map
// of processes, too (fork, exec, exit). The changes come by the ring buffer, and after lost records
// by comparing with the map:
//
//   BPF maps `processes`, `lives` <----------- set(), remove()
//             | records                            |
//             +---------- adopt(), missed() --> ProcessTable
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "bpf/load/bpf_object.h"
#include "bpf/sampling/first_threads.h"
#include "bpf/wire/records.h"

namespace labelscope {

class ProcessTable {
 public:
  // `object` must live as long as this object.
  explicit ProcessTable(BpfObject& object) : object_(object) {}

  // These do what Sampler::set_process() and Sampler::remove_process() do.
  enum class Which {
    kAny,
    kKnown,      // one that the BPF programs sample: kVanished for any other
    kUntilExec,  // a child of ours that is to execute the program
  };
  Status set(Pid pid, std::span<const ls_tls_recipe> recipes, const PresetPlans& presets,
             Which which = Which::kAny);
  Status remove(Pid pid);
  bool contains(Pid pid) const { return lives_.contains(raw(pid)); }
  // Returns the life of a process, as of the last record; 0 if there is no such process.
  std::uint32_t life(Pid pid) const {
    const auto known = lives_.find(raw(pid));
    return known == lives_.end() ? 0 : known->second.now;
  }
  std::vector<Pid> pids() const;

  // Takes a record. Returns false if its content is known already, or is about a process that was
  // removed.
  bool adopt(const ProcessRecord& event);
  // Returns what lost records would have reported, for adopt().
  std::vector<ProcessRecord> missed() const;
  // The lives of a process (wire.h): that with which it began, and that of its program.
  struct Lives {
    std::uint32_t born = 0;
    std::uint32_t now = 0;
  };
  // The same from what is known, by process, and the content of the map.
  struct Present {
    Pid pid{};
    Pid parent{};
    Lives lives;
  };
  static std::vector<ProcessRecord> missed(const std::unordered_map<int, Lives>& known,
                                           std::span<const Present> present);

  // Asks again, if it is time, for which first threads the kernel's saved pointer is right.
  void ask_first_threads();
  // Returns the number of processes whose first thread the kernel does not let labelscope stop.
  std::uint64_t first_threads_refused() const { return first_threads_.refused(); }

 private:
  Status update(Pid pid, ls_process& value, const ls_process& current);
  Status add(Pid pid, ls_process& value);
  bool knows_first_pointer(Pid pid, const ls_process& value, const ls_process* current);

  BpfObject& object_;
  FirstThreads first_threads_;
  std::unordered_map<int, Lives> lives_;  // by process, as they were handed out
};

}  // namespace labelscope
