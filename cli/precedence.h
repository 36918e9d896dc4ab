// labelscope works for moments, and somebody waits for each of them.
#pragma once

#include <chrono>

namespace labelscope::cli {

// The calling thread, and what it starts, before the programs that want a processor at the same
// time, until labelscope ends: among a thousand threads that can run, a tenth of a second of work
// would take a minute. By the nice value and not by a real-time policy, so that the others go on
// whatever happens here. Nothing changes where the kernel does not allow it (CAP_SYS_NICE, or
// RLIMIT_NICE).
class Precedence {
 public:
  Precedence();
  Precedence(const Precedence&) = delete;
  Precedence& operator=(const Precedence&) = delete;

  // What begins now may have it as long.
  void start_again();
  // To be called now and then by work without a known end, such as naming addresses: gives it back
  // when this thread has used a processor for `most` since.
  void give_back_after(std::chrono::nanoseconds most);

 private:
  void give_back();

  bool raised_ = false;
  int before_ = 0;
  std::chrono::nanoseconds used_before_{0};
};

}  // namespace labelscope::cli
