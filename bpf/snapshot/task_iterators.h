// These are the BPF iterators of task_snapshot.bpf.c, loaded for one process. Each runs when user
// space reads its file.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "bpf/wire/snapshot_wire.h"
#include "labelscope/ids.h"
#include "labelscope/preset_plan.h"
#include "labelscope/result.h"

struct bpf_link;
struct bpf_object;

namespace labelscope {

class TaskIterators {
 public:
  enum class Kind { kThreads, kBytes, kAuxv, kMappings };
  using Visitor = std::function<Status(std::span<const std::byte> record)>;

  // Fails with kUnsupported if the kernel is older than Linux 5.18 or does not describe its types,
  // and with kPermission if CAP_BPF or CAP_PERFMON is missing.
  static Result<std::unique_ptr<TaskIterators>> load(Pid pid);
  ~TaskIterators();
  TaskIterators(const TaskIterators&) = delete;
  TaskIterators& operator=(const TaskIterators&) = delete;

  // Visits another process from now on. This needs no right that load() needs.
  Status move_to(Pid pid);

  // Takes the programs of presets that these recipes name from another map of such programs. run()
  // does not need their plans then.
  void copy_presets(int map, std::span<const ls_tls_recipe> recipes);
  // The presets are those that recipes of the request name.
  //
  // Hands every record to `visit`: 8-aligned, of the size in its head, and of the right type. Ends
  // at the first error of `visit`. If no thread is there, there is no record, and that is no error.
  // Fails with kVanished if the process has executed another program since the first record of this
  // object, or if another process has its number now. Several threads may call this; they wait for
  // each other.
  Status run(Kind kind, const ls_request& request, const Visitor& visit,
             const PresetPlans& presets);

  Pid pid() const { return pid_; }

 private:
  explicit TaskIterators(Pid pid) : pid_(pid) {}
  Status load();
  Status attach();
  void detach();
  Status read_all(int iterator, Kind kind, const Visitor& visit);
  Status accept(const ls_task_record& record, Kind kind);

  Pid pid_;
  bpf_object* object_ = nullptr;
  std::array<bpf_link*, 4> links_{};
  int request_fd_ = -1;
  int presets_fd_ = -1;
  std::mutex one_at_a_time_;  // the BPF programs have one request and one buffer
  std::optional<ls_running_program> program_;
};

}  // namespace labelscope
