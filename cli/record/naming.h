// Names of the addresses of a session: those of files are found while it samples, so that nobody
// waits for them at its end, and the rest when it is over.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <vector>

#include "cli/host/signals.h"
#include "cli/host/terminal.h"
#include "cli/options/common_options.h"
#include "cli/record/recorder.h"
#include "cli/symbol/early_names.h"
#include "cli/symbol/file_namer.h"
#include "cli/symbol/kernel_symbols.h"

namespace labelscope::cli {

class Naming {
 public:
  // Both must outlive it.
  Naming(const FunctionNameOptions& options, Signals& signals)
      : options_(options), signals_(signals) {}

  // Has names of new addresses found, if it is time for that, or in any case with `now`.
  void look_early(const Recorder& recorder, bool now = false);
  // This is thread-safe: whether a thread is in look_early(), where it holds a lock.
  bool is_looking() const { return is_looking_; }
  // The thread that finds names early waits for ever, or did so with a lock. Nothing waits for it.
  void leave_early() { has_stuck_ = true; }

  // Looks early no more: locations have other numbers from now on.
  void end_early();
  // Names all addresses of the profile. Ctrl-C ends that, also if one has ended the recording
  // before. `files` is parallel to its modules. `progress` may be null.
  void finish(Profile& profile, const std::vector<ModuleFile>& files, Progress* progress = nullptr);
  // It was left at a file that does not answer.
  void give_up() { given_up_ = true; }
  // Returns whether the rest has no names, because the user did not wait for them.
  bool given_up() const { return given_up_; }

 private:
  using Clock = std::chrono::steady_clock;
  FileNamer& namer();
  void release_namer();

  const FunctionNameOptions& options_;
  Signals& signals_;
  std::shared_future<Result<KernelSymbols>> kernel_;
  std::unique_ptr<FileNamer> namer_;
  std::unique_ptr<EarlyNames> early_;  // uses namer_
  Clock::time_point next_early_;
  Progress* progress_ = nullptr;  // while addresses are named
  std::atomic<bool> has_stuck_ = false;
  std::atomic<bool> is_looking_ = false;
  bool looks_early_ = true;
  bool has_released_ = false;
  bool given_up_ = false;
};

}  // namespace labelscope::cli
