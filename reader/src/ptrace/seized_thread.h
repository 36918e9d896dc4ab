// The system calls behind StoppedThread, on one thread that the calling thread has seized. They
// promise nothing: deadlines and late stops are StoppedThread's.
//
// Sources: ptrace(2), "Death under ptrace", "execve(2) under ptrace", "Stopped states".
#pragma once

#include <optional>

#include "labelscope/ids.h"

namespace labelscope {

struct ThreadEvent {
  enum class Kind {
    kNothing,  // it runs, or waits
    kStopped,
    kEnded,  // its status waits for collect_ended()
    kGone,   // not ours any more: it was collected, or goes on under its process's number (exec)
  };
  Kind kind = Kind::kNothing;
  int signal = 0;  // the signal on the way to which it stopped: the detach must deliver it
};

// Only looks: the status of a thread that has ended stays for collect_ended().
ThreadEvent poll_thread(Tid tid);

// One thread or child process of the calling thread that has stopped or ended. Only looks, too.
std::optional<Tid> any_event();

// 0, or errno.
int seize_thread(Tid tid);
int interrupt_thread(Tid tid);
// Lets a stopped thread go on, and delivers the signal to it unless that is 0.
int detach_thread(Tid tid, int signal);

// Collects the status of a thread that has ended. Until its tracer has done that, nobody else hears
// of the end, and an exec of its process waits. A child process of ours is left alone: the part of
// our program that started it collects its status.
void collect_ended(Tid tid);

}  // namespace labelscope
