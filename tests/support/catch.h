// Catch2 under one name: 2.13 (Debian 12) has one header, 3.x (newer distributions) has several.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <string>

// Ends this test case as skipped (exit code 77). A test that cannot run here is never reported as
// passed.
[[noreturn]] void skip_test(const std::string& reason);

// Skips in a user-mode emulator (qemu-aarch64). It has no ptrace and does not start programs of the
// emulated processor, and its /proc shows the emulator instead of the program.
void skip_in_user_mode_emulation();
