// Who is recorded: processes that the user has named, or a command that labelscope starts. The
// sampler, the messages and the names of files ask here, so that `record` knows no process IDs.
//
//                     find_targets()     add_to()              release()   while it records   at last
//   ------------------------------------------------------------------------------------------------
//   processes         opens them         adds them and their   -           have all ended?    -
//                                        children that exist
//   a command         forks it; it       adds it               it executes  has it ended?     its own
//                     waits                                                                   status
//
// A new way to name targets is a maker for find_targets(): it looks for processes, and says what
// messages and files call them. It needs a class of its own only if it does something else than
// these two at one of the steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/host/exit_status.h"
#include "cli/host/signals.h"
#include "cli/options/record_options.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope::cli {

class Recorder;

class Targets {
 public:
  // A command that could not be executed.
  struct NotStarted {
    int exit_status;
    std::string why;
  };

  virtual ~Targets() = default;

  // The processes to begin with, at least one.
  const std::vector<Pid>& first() const { return first_; }
  // Whether processes that these start are recorded, too. The sampler admits them when they fork.
  bool admits_children() const { return admits_children_; }
  // What the files of the recording are named after: "postgres-4242", safe in the name of a file.
  const std::string& base_name() const { return base_name_; }
  // For a message, after add_to(): "4242 (postgres) and its 3 child processes".
  virtual std::string names() const = 0;
  // Whether labelscope starts them: then nothing is known of their files before release().
  virtual bool is_command() const { return false; }
  // What is still to be done with them, as bits of RemainingWork.
  virtual unsigned remaining_work() const { return 0; }

  // Adds those that exist now. kPermission, kVanished, kNotFound: one cannot be recorded, and the
  // context says why to people.
  virtual Status add_to(Recorder& recorder, Backend backend) = 0;
  // Sampling has begun: what was held back for that goes on.
  virtual std::optional<NotStarted> release() { return std::nullopt; }
  virtual bool ended() = 0;
  // Why they do not run, and what lets them go on; empty if nothing holds them.
  virtual std::string standstill() const;
  // The kernel's own sum of the CPU time of all that is recorded, once they have ended; 0: it has
  // none.
  virtual std::uint64_t whole_time_ns() const { return 0; }
  // What labelscope exits with after a recording that worked. Waits for a command to end; calls
  // `on_waiting` before.
  virtual int exit_status(Signals&, const std::function<void()>& /*on_waiting*/) { return kExitOk; }

 protected:
  Targets(std::vector<Pid> first, bool admits_children, std::string base_name)
      : first_(std::move(first)),
        admits_children_(admits_children),
        base_name_(std::move(base_name)) {}
  Targets(const Targets&) = delete;
  Targets& operator=(const Targets&) = delete;

 private:
  std::vector<Pid> first_;
  bool admits_children_;
  std::string base_name_;
};

// Those that the options name. A command is forked here, so call it before anything is changed that
// a child inherits. kVanished, kNotFound: there is no such process.
Result<std::unique_ptr<Targets>> find_targets(const RecordOptions& options, const Signals& signals);

}  // namespace labelscope::cli
