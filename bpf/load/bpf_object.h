// BpfObject owns the sampler's loaded BPF programs and their maps: it chooses the compiled version,
// sets the sizes of the maps and the constants of the programs, and attaches what runs at events of
// processes. loading.h has what it shares with other objects.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bpf/load/first_parts.h"
#include "bpf/load/kernel.h"
#include "bpf/load/sampler_options.h"
#include "bpf/wire/counters.h"
#include "bpf/wire/wire.h"
#include "labelscope/preset_plan.h"
#include "labelscope/result.h"

struct bpf_link;
struct bpf_object;

namespace labelscope {

// So many totals of waits are kept at the same time, and so many pairs of who waited and who is to
// blame. Their memory is taken in any case, 14 and 16 MiB: so they are taken out when half of them
// may be there.
inline constexpr std::uint32_t kMostWaitTotals = 65536;
inline constexpr std::uint32_t kMostBlameTotals = 131'072;

class BpfObject {
 public:
  // Opens the object, sets the sizes of its maps, loads it, and attaches the programs that run
  // at a fork, at an exec, and when a thread exits and is freed. retry_problem() says why there are
  // no repeated reads although the options want them.
  static Result<std::unique_ptr<BpfObject>> load(const SamplerOptions& options);
  ~BpfObject();
  BpfObject(const BpfObject&) = delete;
  BpfObject& operator=(const BpfObject&) = delete;

  // These file descriptors are valid as long as the object. They are -1 if this variant has no such
  // map.
  int program_fd() const { return program_fd_; }
  int ring_fd() const { return ring_fd_; }
  bool retries() const { return retries_fd_ >= 0; }
  const bpf_object* object() const { return object_; }
  FirstParts take_first_parts() { return std::move(first_parts_); }
  const std::string& retry_problem() const { return retry_problem_; }
  bool retries_refused() const { return retries_refused_; }

  // These use the map of processes and that of their lives. kNotFound means that there is no such
  // entry, kLimit that there is no room. A new process has the life of its entry. put_presets() has
  // the programs that its recipes name before.
  Result<ls_process> process(Pid pid) const;
  Result<std::uint32_t> life(Pid pid) const;
  Status add_process(Pid pid, const ls_process& process);
  Status update_process(Pid pid, const ls_process& process);
  Status remove_process(Pid pid);
  std::vector<Pid> pids() const;
  Status put_presets(std::span<const ls_tls_recipe> recipes, const PresetPlans& presets);
  int presets_fd() const { return presets_fd_; }

  // Return sums over all CPUs, of everything or of one entry of the map (counters.h).
  Result<ls_counters> counters() const;
  Result<ls_counters> counters(std::uint32_t entry) const;
  // How often the program of perf events has run, by CPU; nothing if that cannot be read.
  std::vector<std::uint64_t> samples_by_cpu() const;
  // Returns threads that have ended and that the kernel has not freed yet. Call it after detach():
  // before that, the ring buffer may have records of the same threads.
  std::vector<ls_ending> endings() const;
  // Returns threads that have been freed, but whose records found no room.
  std::vector<ls_ending> unsent_ends() const;
  // The same, and forgets them.
  std::vector<ls_ending> take_unsent_ends();
  // Waits count from start_waits() to stop_waits(), if the mode samples waits.
  Status start_waits();
  void stop_waits();
  // Sets the weight of a short wait that is drawn (off_cpu.bpf.h).
  Status set_wait_unit(std::uint64_t unit_ns);
  // Adds a thread that may wait already, and returns whether it did: one that is known stays as it
  // is. Fails with kLimit if there is no room.
  Result<bool> add_waiting(Tid tid, const ls_off_cpu& thread);
  // Removes a thread that was added with this `left_ns`, unless the kernel's programs have seen the
  // end of its wait: the entry is theirs then, and may have a sample that is not yet sent.
  void forget_waiting(Tid tid, std::uint64_t left_ns);
  // Removes all threads of a process that is no longer known, so that none of its waits counts.
  void forget_waits(Pid pid);
  std::vector<std::pair<Tid, ls_off_cpu>> off_cpu_threads() const;
  std::vector<std::pair<ls_wait_key, ls_wait_total>> wait_totals() const;
  // Returns what of these waits is blamed on somebody.
  std::vector<std::pair<ls_blame_key, ls_blame_total>> blame_totals() const;
  // Take out those of all generations but this one (wait_totals.bpf.h): no program adds to them any
  // more.
  std::vector<std::pair<ls_wait_key, ls_wait_total>> take_wait_totals(std::uint32_t current);
  std::vector<std::pair<ls_blame_key, ls_blame_total>> take_blame_totals(std::uint32_t current);
  // Lets waits that end from now on count in this window (wait_window.bpf.h).
  Status set_wait_window(std::uint64_t window);
  // Removes a thread that was known from then on, if it is no other one now.
  void forget_thread(Tid tid, std::uint64_t begun_ns);
  // What is known of threads that wait, for blame.
  std::vector<std::pair<Tid, ls_woken>> woken_threads() const;
  // The numbers of waits that the kernel knows, and what they are in blame.
  std::vector<std::pair<std::uint64_t, ls_published>> published_labels() const;
  // The labels of these numbers are sent again if they come again.
  void forget_label_numbers(std::span<const std::uint64_t> numbers);
  // Lets the kernel divide blame by SamplerOptions::blame_keys alone from now on.
  Status blame_by_keys();
  // What a number stands for in blame with LS_GENERATION_LATE, if that is known by now.
  std::optional<std::uint64_t> late_labels(std::uint64_t number) const;
  void forget_late_labels(std::uint64_t number);
  // Returns how many totals were made, and the time of waits for which there was no room.
  Result<ls_totals_made> totals_made() const;
  // Cancels the repeated reads that were scheduled and have not run.
  void cancel_retries();
  // Ends the events of processes and threads.
  void detach();

 private:
  BpfObject() = default;
  static Result<std::unique_ptr<BpfObject>> load_object(const SamplerOptions& options,
                                                        const SamplerObject& object);
  void size_maps(const SamplerOptions& options, const SamplerObject& object, std::uint32_t cpus);
  Status find_parts();
  Status attach();
  Status attach(std::span<const char* const> programs, std::vector<bpf_link*>& links);
  Status fill_free_scratches();
  Status set_choice(const ls_key_choice& choice);
  Status calibrate();

  bpf_object* object_ = nullptr;
  FirstParts first_parts_;
  std::vector<bpf_link*> links_;
  std::vector<bpf_link*> wait_links_;
  bool samples_waits_ = false;
  bool blames_ = false;
  ls_key_choice of_blame_{};
  std::uint32_t slots_ = 0;  // slots of all programs that take samples (wire.h), on all CPUs
  int program_fd_ = -1;
  int ring_fd_ = -1;
  int processes_fd_ = -1;
  int lives_fd_ = -1;
  int presets_fd_ = -1;
  int counters_fd_ = -1;
  int endings_fd_ = -1;
  int unsent_ends_fd_ = -1;
  int retries_fd_ = -1;
  int free_scratches_fd_ = -1;
  int off_cpu_threads_fd_ = -1;
  std::string retry_problem_;
  bool retries_refused_ = false;
};

}  // namespace labelscope
