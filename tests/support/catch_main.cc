// The one translation unit that pays for Catch2's main().
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#endif
#include <cstdio>
#include <cstdlib>

#include "support/catch.h"

void skip_test(const std::string& reason) {
  std::printf("SKIPPED: %s\n", reason.c_str());
  std::fflush(stdout);
  std::_Exit(77);
}

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
