// ThreadTimes reads the CPU time of all threads of the sampled processes at once, by the BPF
// program `thread_times`. read_thread_times() knows the same of one process, but opens a file for
// each of its threads.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"
#include "process/cpu_times.h"

struct bpf_link;
struct bpf_object;

namespace labelscope {

class ThreadTimes {
 public:
  using ByProcess = std::map<Pid, std::vector<ThreadTime>>;

  ThreadTimes() = default;
  ~ThreadTimes();
  ThreadTimes(const ThreadTimes&) = delete;
  ThreadTimes& operator=(const ThreadTimes&) = delete;

  // Prepares so many reads, because labelscope may give up the right to begin one.
  Status open(const bpf_object* object, unsigned reads);
  // Returns nothing if no read was prepared, or if it fails.
  std::optional<ByProcess> read();
  // Does not use up what was prepared. Returns nothing if the right is gone, or if it fails.
  std::optional<ByProcess> read_once_more();

 private:
  static std::optional<ByProcess> read(const UniqueFd& iterator);

  bpf_link* link_ = nullptr;
  std::vector<UniqueFd> iterators_;  // each can be read once
};

}  // namespace labelscope
