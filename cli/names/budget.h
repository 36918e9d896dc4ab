// What looking at one file may cost. Each step spends of it before it does something, so that no
// file, however small, buys more by being made for it: a hundred million entries are a hundred
// kilobytes on disk, compressed.
//
// A step that finds nothing left leaves out what it would have found; the rest goes on without it.
// What cannot be told before it is done inside libdw is bounded from outside (cli/worker): by memory
// and by a deadline.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace labelscope::cli {

enum class Cost : std::uint8_t {
  kUnpackedBytes,  // of compressed sections
  kRows,           // of line tables; libdw decodes all of a unit at once
  kEntries,        // of .debug_info, each time that one is looked at
  kRanges,         // of addresses, empty ones as well
  kSymbols,        // of symbol tables
};
inline constexpr std::size_t kCosts = 5;

class Budget {
 public:
  struct Limits {
    // Several times what the largest browsers and databases have, and less memory in libdw and here
    // than the worker may have.
    std::array<std::uint64_t, kCosts> most{std::uint64_t{512} << 20, 12'000'000,
                                           std::uint64_t{1} << 26, std::uint64_t{1} << 23,
                                           8'000'000};
    // Of one unit: libdw needs a hundred bytes for each while it decodes them.
    std::uint64_t rows_at_once = 2'000'000;
    std::chrono::milliseconds processor_time{10'000};
  };
  Budget() : Budget(Limits()) {}
  explicit Budget(const Limits& limits);

  // False: so much is not left, or the time is over. Nothing is spent then.
  bool spend(Cost cost, std::uint64_t count = 1);
  // For more addresses.
  void allow(std::chrono::milliseconds more) { time_end_ += more; }
  // What was left out for want of what; empty if nothing was.
  std::string left_out() const;

 private:
  bool is_late();

  Limits limits_;
  std::array<std::uint64_t, kCosts> left_;
  std::array<bool, kCosts> refused_{};
  std::chrono::nanoseconds time_end_;
  unsigned until_asking_ = 0;
  bool late_ = false;
};

}  // namespace labelscope::cli
