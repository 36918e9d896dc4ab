// What labelscope asks the kernel for, for itself. It works for moments, and somebody waits for
// each of them.
#pragma once

#include <chrono>

namespace labelscope::cli {

// Files of modules are kept open: a thousand libraries must not be a reason to lose symbols.
void raise_file_limit();

// For so long naming addresses goes before all other programs: enough for all but huge files.
inline constexpr std::chrono::seconds kMostNamingFirst{1};

// The main thread, and what it starts, before the programs that want a processor at the same time:
// among a thousand threads that can run, a tenth of a second of work would take a minute. By the
// nice value and not by a real-time policy, so that the others go on whatever happens here. Nothing
// changes where the kernel does not allow it (CAP_SYS_NICE, or RLIMIT_NICE).
class Precedence {
 public:
  static Precedence& own();

  // First of all in main(): each millisecond without it costs a turn of all others.
  void take();
  // Also in a forked child: the command that somebody wants to measure gets none.
  void give_back();
  // What begins now may have it as long.
  void start_again();
  // To be called now and then by work without a known end, such as naming addresses: gives it back
  // when this thread has used a processor for `most` since.
  void give_back_after(std::chrono::nanoseconds most);

 private:
  bool raised_ = false;
  int before_ = 0;
  std::chrono::nanoseconds used_before_{0};
};

}  // namespace labelscope::cli
