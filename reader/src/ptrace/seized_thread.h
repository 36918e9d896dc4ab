// What ptrace has to say about one thread that this thread has seized: the system calls behind
// StoppedThread, without its promises.
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
    kEnded,  // and its status can be collected
    kGone,   // not ours any more: it was collected, or goes on under its process's number (exec)
  };
  Kind kind = Kind::kNothing;
  int signal = 0;  // that it stopped on the way to, and must still get
};

// Changes nothing: that it has ended is left for collect_ended() to take.
ThreadEvent poll_thread(Tid tid);

// Any of all that this thread has seized, or started, to which something has happened; it is left
// to be asked for.
std::optional<Tid> any_event();

// 0, or errno.
int seize_thread(Tid tid);
int interrupt_thread(Tid tid);
// Of a stopped thread: it goes on, with this signal if there is one.
int detach_thread(Tid tid, int signal);

// Takes the answer that it has ended out of the kernel. Until its tracer has done so, nobody else
// hears of it, and an exec of its process waits. The status of a process that the calling one has
// started is left alone: somebody's to collect who does not know of us.
void collect_ended(Tid tid);

}  // namespace labelscope
