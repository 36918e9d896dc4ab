// Signals as events of the main loop: the first SIGINT, SIGQUIT, SIGTERM or SIGHUP stops and
// writes, the second gives up: it ends the naming of addresses, or, while files are written,
// labelscope itself.
#pragma once

#include <array>
#include <csignal>

#include "labelscope/unique_fd.h"

namespace labelscope::cli {

// Each asks for an end; SIGHUP only where it was not ignored.
inline constexpr std::array kStopSignals{SIGINT, SIGQUIT, SIGTERM, SIGHUP};

class Signals {
 public:
  // Blocks the signals that are events here, for this process and the threads it starts later.
  // SIGHUP is none where it was ignored before: that is what nohup is for.
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // In a child, before it executes another program: everything as labelscope itself found it.
  void restore() const;
  // Takes what has arrived; does not block.
  void poll();
  // While something may block that nobody polls in (a pipe that is not read): the second signal
  // ends labelscope with status 130. What was not written then has no name and is gone.
  void begin_uninterrupted();
  void end_uninterrupted();
  bool stop_requested() const { return stops_ > 0; }
  bool give_up_requested() const { return stops_ > 1; }
  // The last request came from a process, not from the terminal's keyboard (which reaches a child
  // anyway).
  int forwardable() const { return forwardable_; }

 private:
  UniqueFd fd_;
  sigset_t events_{};
  sigset_t before_{};
  struct sigaction pipe_before_ {};
  struct sigaction child_before_ {};
  int stops_ = 0;
  int forwardable_ = 0;
};

}  // namespace labelscope::cli
