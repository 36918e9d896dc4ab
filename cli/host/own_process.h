// This is what labelscope asks of the kernel for itself. It works only for moments, but during
// these a user or a held thread waits for it.
#pragma once

#include <sys/resource.h>

#include <chrono>

namespace labelscope::cli {

// labelscope keeps the files of modules open. A thousand libraries must not be a reason to lose
// symbols, nor to wait. Call it while there is one thread.
void raise_file_limit();

// A file that grows beyond `ulimit -f` is then an error of its writing, with a message, and no end
// by a signal. A command that labelscope starts gets the signal back.
void survive_file_limit();
void restore_file_limit();

// While it names addresses, labelscope has precedence for this long. It is enough for all but huge
// files.
inline constexpr std::chrono::seconds kMostNamingFirst{1};

// Gives the main thread, and the threads that it starts, precedence over other programs. Without
// it, among a thousand threads that want to run, a tenth of a second of work would take a minute.
// It sets the nice value and no real-time policy, so other programs continue in any case. Nothing
// changes if the kernel does not allow it (CAP_SYS_NICE, or RLIMIT_NICE).
class Precedence {
 public:
  static Precedence& own();

  // This is the first call of main(): without it, labelscope waits again and again until all other
  // programs had their turn.
  void take();
  // Gives the precedence back.
  void give_back();
  // The same for good, and for what this process executes, in a forked child as well: the command
  // that the user wants to measure must not have it.
  void renounce();
  // Lets all other programs go first for a while. Nothing changes if come_forward() could not take
  // the precedence again.
  void step_back();
  // Takes the precedence again after step_back(), for the next piece of work.
  void come_forward();
  // Removes the precedence from the calling thread, which has inherited it.
  static void forgo();
  // Restarts the time of give_back_after() for the next piece of work.
  void start_again();
  // Gives the precedence back when this thread has used a processor for `most`. Work that may take
  // long, such as naming addresses, calls this now and then.
  void give_back_after(std::chrono::nanoseconds most);

 private:
  bool raised_ = false;
  bool is_back_ = false;     // after step_back()
  bool may_return_ = false;  // RLIMIT_NICE allows to take the precedence at any time
  rlimit limit_before_{};
  int before_ = 0;
  std::chrono::nanoseconds used_before_{0};
};

}  // namespace labelscope::cli
