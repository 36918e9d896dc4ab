// The only translation unit that compiles Catch2's main().
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#endif
#include <sys/ptrace.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "support/catch.h"

void skip_test(const std::string& reason) {
  std::printf("SKIPPED: %s\n", reason.c_str());
  std::fflush(stdout);
  std::_Exit(77);
}

// Every kernel has this call, and reports for an impossible process that there is none. An emulator
// reports something else.
void skip_in_user_mode_emulation() {
  if (::ptrace(PTRACE_CONT, -1, nullptr, nullptr) == -1 && errno == ENOSYS) {
    skip_test("an emulator of user mode has neither ptrace nor a process of its own here");
  }
}

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
