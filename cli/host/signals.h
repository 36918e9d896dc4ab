// Signals as events of the main loop. SIGINT, SIGQUIT, SIGTERM or SIGHUP ends the recording. One
// more, or the first while addresses are named, ends the naming of addresses, and labelscope writes
// its files. The second while files are written ends labelscope itself.
#pragma once

#include <array>
#include <csignal>

#include "labelscope/unique_fd.h"

namespace labelscope::cli {

// Each asks labelscope to end. SIGHUP does so only if it was not ignored at the start.
inline constexpr std::array kStopSignals{SIGINT, SIGQUIT, SIGTERM, SIGHUP};

class Signals {
 public:
  // Blocks these signals, for this process and the threads that it starts later. If SIGHUP was
  // ignored before (nohup), it stays ignored.
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Restores the signals as labelscope found them, in a child before it executes another program.
  void restore() const;
  // Returns the descriptor that can be read when a signal has arrived.
  int fd() const { return fd_.get(); }
  // Takes the signals that have arrived; does not block.
  void poll();
  // Begins work that may block and does not poll (writing to a pipe without a reader). From here on
  // the second signal ends labelscope with status 130. Incomplete files are gone then: they have no
  // name yet.
  void begin_uninterrupted();
  void end_uninterrupted();
  // Returns whether a signal has arrived that poll() has not taken. Any thread may call it, without
  // the object.
  static bool stop_is_pending();
  // Returns the number of requests so far. Several within half a second are one.
  int stops() const { return stops_; }
  bool stop_requested() const { return stops_ > 0; }
  bool give_up_requested() const { return stops_ > 1; }
  // Returns the signal of the last request, if a process has sent it. 0 if it came from the
  // keyboard, which reaches a child anyway.
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
