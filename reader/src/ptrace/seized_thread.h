// These functions are the system calls behind StoppedThread, on one thread that the calling thread
// has seized. They promise nothing: StoppedThread handles deadlines and late stops.
//
// Sources: ptrace(2), "Death under ptrace", "execve(2) under ptrace", "Stopped states".
#pragma once

#include <optional>

#include "labelscope/ids.h"

namespace labelscope {

struct ThreadEvent {
  enum class Kind {
    kNothing,  // the thread runs, or waits
    kStopped,
    kEnded,  // the thread has ended; its status waits for collect_ended()
    kGone,   // not traced any more: it was collected, or goes on under its process's number (exec)
  };
  Kind kind = Kind::kNothing;
  // the signal that it was about to get when it stopped: the detach must deliver it
  int signal = 0;
};

// This only looks: the status of a thread that has ended stays for collect_ended().
ThreadEvent poll_thread(Tid tid);

// Returns one thread or child process of the calling thread that has stopped or ended. It only
// looks, too.
std::optional<Tid> any_event();

// Returns 0, or errno.
int seize_thread(Tid tid);
int interrupt_thread(Tid tid);
// Lets a stopped thread go on, and delivers the signal to it unless that is 0.
int detach_thread(Tid tid, int signal);

// Collects the status of a thread that has ended. Until its tracer has done that, the end is not
// reported to its parent, and an exec of its process waits. A child process of this program is left
// alone: the part of the program that started it collects its status.
void collect_ended(Tid tid);

}  // namespace labelscope
