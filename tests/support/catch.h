// Catch2 under one name: 2.13 (Debian 12) has one header, 3.x (newer distributions) several.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <string>

// Ends this test case as skipped (exit code 77): what cannot run here is never reported as passed.
[[noreturn]] void skip_test(const std::string& reason);

// Skips in an emulator of user mode (qemu-aarch64): it has no ptrace, does not start programs of
// the processor that it emulates, and /proc shows what is its own in place of what is the
// program's.
void skip_in_user_mode_emulation();
