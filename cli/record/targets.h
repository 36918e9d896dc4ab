// The processes that are recorded: those that the user has named, or a command that labelscope
// starts. The sampler, the messages and the names of files use this, so that `record` knows no
// process IDs.
//
//                 find_targets()  add_to()              release()    while it records  at the end
//   ---------------------------------------------------------------------------------------------
//   processes     finds them      adds them and their   -            have all ended?   -
//                                 children that exist                join(): new ones
//   a command     forks it; it    adds it               it executes  has it ended?     its own
//                 waits                                                                status
//
// A new way to name processes that run is a row of NamedBy (cli/process/find_processes.h). It needs
// a class of its own, as found_processes.cc and command_target.cc have, only if it does something
// else than these two at one of the steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/host/exit_status.h"
#include "cli/host/signals.h"
#include "cli/options/session_options.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope::cli {

class Recorder;

class Targets {
 public:
  // The reason why a command could not be executed.
  struct NotStarted {
    int exit_status;
    std::string why;
  };

  virtual ~Targets() = default;

  // Returns the first processes to record, at least one.
  const std::vector<Pid>& first() const { return first_; }
  // Returns whether processes that these start are recorded, too. The sampler admits them when they
  // fork.
  bool admits_children() const { return admits_children_; }
  // The files of the recording are named after this: "postgres-4242", which is safe in a file name.
  const std::string& base_name() const { return base_name_; }
  // Returns the text for messages, after add_to(): "4242 (postgres) and its 3 child processes".
  virtual std::string names() const = 0;
  // Returns whether labelscope starts them. In that case nothing is known of their files before
  // release().
  virtual bool is_command() const { return false; }
  // Returns the work that is still to be done with them, as bits of RemainingWork.
  virtual unsigned remaining_work() const { return 0; }

  // Returns a process that may not be recorded, after that has been refused.
  Pid refused() const { return refused_.value_or(first_.front()); }

  // Adds those that exist now. Fails with kPermission, kVanished or kNotFound if one cannot be
  // recorded; the context explains it to people.
  virtual Status add_to(Recorder& recorder, Backend backend) = 0;
  // Sampling has begun: a process that was held back for that continues.
  virtual std::optional<NotStarted> release() { return std::nullopt; }
  // Adds processes that have started since, where the words that name the targets find these, too.
  virtual void join(Recorder&) {}
  virtual bool ended() = 0;
  // Returns whether none of them was there when ended() was asked last, and the next one is waited
  // for: the recording's time has not begun.
  virtual bool awaited() const { return false; }
  // Returns why they do not run, and what lets them continue; empty if nothing holds them.
  std::string standstill() const;
  // Returns the kernel's own sum of the CPU time of all that is recorded, once they have ended; 0:
  // unknown.
  virtual std::uint64_t whole_time_ns() const { return 0; }
  // Returns the exit status of labelscope after a successful recording. Waits for a command to end,
  // and calls `on_waiting` before.
  // With `end` it is ended first, if it still runs; then the status is kExitOk.
  virtual int exit_status(Signals&, const std::function<void()>& /*on_waiting*/, bool /*end*/) {
    return kExitOk;
  }

 protected:
  Targets(std::vector<Pid> first, bool admits_children, std::string base_name)
      : first_(std::move(first)),
        admits_children_(admits_children),
        base_name_(std::move(base_name)) {}
  Targets(const Targets&) = delete;
  Targets& operator=(const Targets&) = delete;
  void set_first(std::vector<Pid> first) { first_ = std::move(first); }
  void note_refused(Pid pid) {
    if (!refused_) refused_ = pid;
  }

 private:
  std::vector<Pid> first_;
  bool admits_children_;
  std::string base_name_;
  std::optional<Pid> refused_;  // by add_to()
};

// Returns the reason why a process could not be added, escaped.
Error why_not_added(Pid pid, Error error, Backend backend);
// Returns the base name of files about this process: "postgres-4242".
std::string base_name_of(std::string_view program, Pid pid);

}  // namespace labelscope::cli
