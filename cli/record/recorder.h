// A recording in progress: takes the sampler's events, and makes a Profile.
//
//               samples, forks, execs, mappings, ends
//   Sampler ------------------------------------------> Recorder ----> Profile
//           <------------------------------------------    |
//               recipes of each process                    +--> a TrackedProcess for each process:
//                                                               mappings, plan, when to plan again
//
// A process is known by its key, which says which of those that have had its number it is:
//
//                fork        exec                    exit        let go        take_profile()
//   processes_   |== key a ==|====== key b ======================|
//   gone_                    a: its summary                      b: its summary
//   rows         a.....a.....b.b...b..b.............b                          Profile::processes
//
// Processes fork, execute other programs, load libraries, and end. The recorder plans again after
// each of these, and reads the mappings of a process before they are gone.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cli/process/pinned_processes.h"
#include "cli/process/process_labels.h"
#include "cli/profile/profile_builder.h"
#include "cli/record/group_members.h"
#include "cli/record/process_clocks.h"
#include "cli/record/stack_ends.h"
#include "cli/record/tracked_process.h"
#include "cli/record/window_ledger.h"
#include "cli/symbol/early_names.h"
#include "sampling/sampler.h"

namespace labelscope::cli {

// What the plans of processes found out about a variable of --variable, or a preset.
template <class Missing>
struct Seen {
  bool found = false;                // some process had it
  std::optional<Missing> missing{};  // the reason of a process that has not
};
using VariableSeen = Seen<MissingVariable>;
using PresetSeen = Seen<MissingPreset>;

// A file whose labels were not read, because its process has too many publishers.
struct LostPublisher {
  Pid example{};    // the first process in which that was so
  std::string why;  // the planner's reason
};

class Recorder final : private EventHandler {
 public:
  struct Options {
    std::size_t timed_samples = 0;                       // so many samples are kept with their time
    std::span<const ls_sample_kind> kinds = kOnCpuOnly;  // the kinds of its samples
    std::uint64_t period_ns = 0;  // average time between two samples of a thread that runs
    LabelRules labels{};          // decide which labels are kept
    ProcessLabelOptions process_labels{};
    std::vector<VariableSpec> variables{};  // variables whose values are labels
    ModulePresets presets{};                // labels of stock servers
    ModulePresets noticed{};                // PlannerOptions::noticed
    std::vector<std::string> blame{};  // keys by which waits are blamed on who made threads wait
    WaitLimits limits{};
    KernelClocks clocks{};
    // So long may plans keep a step() from the next samples.
    std::chrono::milliseconds plan_budget{20};
  };

  // Samples nothing yet.
  Recorder(std::unique_ptr<Sampler> sampler, const Options& options);

  // Adds a process to sample. Fails with kVanished and kPermission as TrackedProcess::refresh()
  // does. If the process executes another program meanwhile, it is added, and planned at its
  // on_exec().
  // `pins`, if it is not null, has the process that is meant: if that has ended, whatever has its
  // number now is not added, and the error is kVanished.
  Status add(Pid pid, const PinnedProcesses* pins = nullptr);
  // Adds a child that has not executed its program yet. It is still a copy of labelscope: its
  // mappings are not the program's, and nothing in it publishes labels. `program` is that of
  // Sampler::set_before_exec().
  Status add_before_exec(Pid pid, UniqueFd program);
  // The same after start(), for a process that has run before. If it cannot be added, this is
  // counted, and false returned.
  bool add_counted(Pid pid, const PinnedProcesses* pins = nullptr);
  // Adds the processes that this process and its children have started already. Counts those that
  // cannot be added. Returns how many were added.
  std::size_t add_children(Pid parent);
  // What all recorded processes start is recorded, too: so if they are all of a cgroup, it has no
  // time of others. Call it before start().
  void note_children_followed() { follows_children_ = true; }
  Status start();
  // Takes the events that have come, waits up to `timeout` for more, and plans processes that are
  // due: at least one, and as many as the budget allows. The others wait for the next step, and
  // their samples are unreadable meanwhile, as those of programs that are not planned yet.
  Status step(std::chrono::milliseconds timeout);
  // Ends sampling and takes the rest. It is called once; again only if the first call was left
  // behind, and then it takes nothing more.
  Status stop();

  std::uint64_t samples() const { return builder_.samples(); }
  std::uint64_t labelled() const { return builder_.labelled(); }
  std::uint64_t dropped() const;
  // Shows it the locations of all samples so far.
  void show_locations(EarlyNames& names) const;
  // Changes with each planning of a process.
  std::uint64_t plans() const { return plans_; }
  // Whether some stack so far has a part in the kernel.
  bool in_kernel() const { return in_kernel_; }
  // Whether no process of the recording has begun, ended, or loaded anything lately, so that
  // nothing but samples is to come. The rate of samples of waits always has to be held.
  bool is_calm() const;
  // Those that run, and those that have ended lately. Of those that ended before, one of each kind
  // is still here, as an example for messages.
  using Processes = std::map<ProcessKey, std::unique_ptr<TrackedProcess>>;
  const Processes& processes() const { return processes_; }
  // The process that has this number now, or had it last; null: it is not recorded, or was let go.
  const TrackedProcess* current(Pid pid) const {
    const auto found = current_.find(pid);
    return found == current_.end() ? nullptr : found->second;
  }
  // Whether what has this number now is recorded already, or is not to be read.
  bool has(Pid pid) const;
  // The number of all processes that were recorded.
  std::size_t process_count() const { return process_count_; }
  // What the plans of all processes found out about a variable, by its number.
  const VariableSeen& variable_seen(std::size_t variable) const {
    return variables_seen_[variable];
  }
  // The same about a preset.
  const PresetSeen& preset_seen(std::size_t preset) const { return presets_seen_[preset]; }
  // By path; of very many the first ones.
  const std::map<std::string, LostPublisher>& lost_publishers() const { return lost_publishers_; }
  const Sampler& sampler() const { return *sampler_; }
  MetKeys met_keys() const { return builder_.met_keys(); }
  const ProcessLabelReader& process_labels() const { return process_labels_; }
  const TableTimes& table_times() const { return table_times_; }
  // The cgroup all of whose processes were recorded at the beginning; nothing if there is none.
  const std::optional<GroupMembers>& group() const { return group_; }

  // A process that does not answer (host/replaceable_thread.h). Only one thread works with this
  // object at any time: one that was left behind does no more, and the next calls these first.
  // Returns the process that was being read; nothing if none was.
  std::optional<Pid> busy_with() const { return busy_; }
  // Reads no more of this process, and takes no more samples of it. What is known of it stays.
  void leave_out(Pid pid);
  bool is_left_out(Pid pid) const { return left_out_.contains(pid); }
  // Reads no more of any process.
  void leave_all();

  // Returns what has come since the last cut: rows, with all that they refer to and nothing else,
  // and their ledger. Sampling goes on. `files` is parallel to the modules. Fails with kUnsupported
  // if the sampler cuts no windows.
  Result<Profile> cut(std::vector<ModuleFile>& files);
  // Keeps the names of the window that was cut last, so that no window has to find them again.
  void keep_names(const Profile& window);
  // Call it after stop(). Returns rows, stacks, modules, processes and the ledger. `files` is
  // parallel to the modules. `time_ns` is the CPU time of all targets if the caller knows it better
  // (from wait4()); else 0.
  Profile take_profile(std::vector<ModuleFile>& files, std::uint64_t time_ns);

 private:
  void on_sample(const Sample& sample) override;
  void on_fork(Pid parent, ProcessKey child) override;
  void on_exec(ProcessKey key, std::string_view name) override;
  void on_last_name(ProcessKey key, std::string_view name) override;
  void on_exit(Pid pid) override;
  void on_thread_end(ProcessKey process, Tid tid, std::uint64_t thread_ns) override;
  void on_thread_time(ProcessKey process, Tid tid, std::uint64_t time_ns,
                      std::uint64_t thread_ns) override;
  void on_mapping(const MappingEvent& event) override;
  void on_label_set(ProcessKey process, std::uint64_t number, std::span<const std::byte> label_bytes,
                    bool of_blame) override;
  void on_waits(std::span<const WaitTotal> waits, std::span<const BlameTotal> blame) override;
  void on_mappings_lost(std::uint64_t since_ns) override;

  // Notes which process is read while it lives.
  class Busy {
   public:
    Busy(Recorder& recorder, Pid pid) : recorder_(recorder), before_(recorder.busy_) {
      recorder.busy_ = pid;
    }
    ~Busy() { recorder_.busy_ = before_; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    Recorder& recorder_;
    std::optional<Pid> before_;
  };

  // What the profile needs of a process that was let go, or of one before it executed another
  // program: a recording may see a million of them. It stays when the process comes back for a late
  // sample, which knows less.
  struct Gone {
    Process process;
    bool is_known = false;  // by more than its number
    bool publishes_nothing = false;
    bool goes_on = false;  // as another program
    Index row = kNoIndex;  // ProcessContext::row
    unsigned cuts = 0;     // so many were there since it has no row
    ProcessOfWaits waits;  // if waits are sampled
  };

  void note_event();
  TrackedProcess* find(ProcessKey key);
  TrackedProcess* find_gone(ProcessKey key);
  TrackedProcess& process_of(ProcessKey key);
  ProcessOfWaits process_of_waits(ProcessKey key);
  Index row_of(TrackedProcess& process);
  Index row_of(Gone& gone, Pid pid);
  std::unique_ptr<TrackedProcess> track(ProcessKey key);
  TrackedProcess& keep(std::unique_ptr<TrackedProcess> process);
  void note_gone(TrackedProcess& process);
  void take_row(TrackedProcess& process);
  void begin_life(TrackedProcess& process, ProcessKey key, std::string_view name);
  KernelTotals kernel_totals(const Counters& counters, std::uint64_t whole_ns) const;
  void plan(TrackedProcess& process);
  void plan_if_time(TrackedProcess& process);
  bool plan_those_due();
  bool has_time_to_plan();
  void find_server(TrackedProcess& process) const;
  void settle_unplanned(Profile& profile) const;
  std::vector<bool> silent_rows(std::size_t count) const;
  void fill_processes(Profile& profile, bool is_last);
  void add_other_processes(Profile& profile);
  void doubt_group();
  void note_process_times();
  void renew_names();
  Index program();
  Ledger sums(const Counters& counters) const;
  Profile& end_window(const Counters& counters, std::uint64_t whole_ns, bool is_last);
  void forget_unused();
  void forget_label_numbers();
  void forget_gone();
  void note_plan(Pid pid, const ProcessPlan& plan);
  void let_go(TrackedProcess::Clock::time_point now);
  bool is_example(const TrackedProcess& process);
  std::set<Pid> recorded_now() const;
  bool knows(Pid pid) const;
  void look_at_group(TrackedProcess::Clock::time_point now);

  std::unique_ptr<Sampler> sampler_;
  Options options_;
  ProcessLabelReader process_labels_;
  ProcessClocks clocks_;
  QueueClocks queues_;
  std::optional<GroupMembers> group_;
  TrackedProcess::Clock::time_point next_group_look_{};
  std::set<Pid> joined_;  // after the start, and no fork of them was reported
  std::uint64_t stolen_before_ns_ = 0;
  ModuleTable modules_;
  ProfileBuilder builder_;
  // makes no plan itself; keeps what the planners of all processes know about files
  Planner planner_;
  Processes processes_;
  std::map<Pid, TrackedProcess*> current_;  // which of processes_ has a number now
  std::map<ProcessKey, Gone> gone_;
  std::size_t process_count_ = 0;
  TrackedProcess::Clock::time_point next_let_go_{};
  // indexed by whether they publish and whether something was refused
  std::array<const TrackedProcess*, 4> examples_{};
  std::vector<VariableSeen> variables_seen_;
  std::vector<PresetSeen> presets_seen_;
  TableTimes table_times_;
  std::map<std::string, LostPublisher> lost_publishers_;
  bool has_accounts_;  // some samples share out the time of their threads
  bool counts_cpu_;    // and that is CPU time
  bool samples_waits_;
  bool follows_children_ = false;
  Counts counters_;  // events that only the recorder sees
  WindowLedger window_;
  LastUse last_use_;
  // What the window that was cut last calls 0, 1, 2 and so on.
  std::vector<Index> cut_locations_;
  std::vector<Index> cut_modules_;
  // What former windows have of the sums that kernel_totals() has.
  std::uint64_t whole_before_ns_ = 0;
  std::uint64_t lost_before_ns_ = 0;
  std::uint64_t plans_ = 0;
  // Plans of this step may begin until then; nothing: none has begun.
  std::optional<TrackedProcess::Clock::time_point> plan_until_;
  bool plans_wait_ = false;  // some are due still
  bool in_kernel_ = false;
  TrackedProcess::Clock::time_point last_event_{};  // of the kinds that is_calm() names
  bool started_ = false;
  TrackedProcess* first_ = nullptr;  // the process that was added first
  std::optional<Pid> busy_;  // the process whose memory or files are being read
  std::set<Pid> left_out_;
  bool leaves_all_ = false;
  bool stops_ = false;
  TrackedProcess* last_process_ = nullptr;  // that find() has found last
};

}  // namespace labelscope::cli
