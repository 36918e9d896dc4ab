// What labelscope asks of the kernel for itself. It works only for moments, but then a user or a
// held thread waits for it.
#pragma once

#include <chrono>

namespace labelscope::cli {

// labelscope keeps the files of modules open. A thousand libraries must not be a reason to lose
// symbols.
void raise_file_limit();

// While it names addresses, labelscope goes before all other programs for so long. That is enough
// for all but huge files.
inline constexpr std::chrono::seconds kMostNamingFirst{1};

// Gives the main thread, and the threads that it starts, precedence over other programs. Otherwise,
// among a thousand threads that want to run, a tenth of a second of work would take a minute. It
// sets the nice value and no real-time policy: so the others go on, whatever happens here. Nothing
// changes if the kernel does not allow it (CAP_SYS_NICE, or RLIMIT_NICE).
class Precedence {
 public:
  static Precedence& own();

  // The first call of main(): without it, labelscope waits for a turn of all others again and
  // again.
  void take();
  // Also for a forked child: the command that the user wants to measure must not have precedence.
  void give_back();
  // The calling thread, which has it from the thread that made it, goes without.
  static void forgo();
  // Starts the time of give_back_after() again, for the next piece of work.
  void start_again();
  // Gives the precedence back when this thread has used a processor for `most`. To be called now
  // and then by work that may take long, such as naming addresses.
  void give_back_after(std::chrono::nanoseconds most);

 private:
  bool raised_ = false;
  int before_ = 0;
  std::chrono::nanoseconds used_before_{0};
};

}  // namespace labelscope::cli
