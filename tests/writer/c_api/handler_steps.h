// Interrupts calls of the library by a signal handler, at every instruction. Random signals find
// an instruction once in thousands; the processor's trap flag goes through all of them, with one
// signal each.
#pragma once

#include <functional>
#include <initializer_list>

// Where nothing is published, one instruction of so many is interrupted.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kFar = 101;  // most of the instructions are the sanitizer's
#else
constexpr int kFar = 11;
#endif

// Runs in the signal handler, and returns whether it found what it should.
using Handler = bool (*)();

// A call, the labels after it, and a call that shows whether the library still knows which set is
// current.
struct Step {
  const char* name;
  std::function<void()> prepare;
  std::function<void()> call;
  std::function<bool()> went_well;
};

// Interrupts each step before the library's instructions, one of `far` where nothing is published.
// Skips the test case on other processors than x86-64.
void check_steps(std::initializer_list<Step> steps, Handler handler, int far = kFar);

// Ends threads that have done what `start` does, and interrupts the library's part of each end at
// another instruction. What a thread publishes then must be there.
void check_thread_end(const std::function<void()>& start, Handler handler);

// Lets a handler end threads within their first call of the library, each at another instruction.
void check_ends_within_first_call();
