// This limits how much work on one file may cost. Each step pays from it before it does something,
// so that no file, however small and however made, can make it do more: a hundred million entries
// are a hundred kilobytes on disk, compressed.
//
// A step that cannot pay leaves out what it would have found; the rest continues without it. Work
// inside libdw, whose cost is not known beforehand, is bounded from outside (cli/worker): by memory
// and by a deadline.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace labelscope::cli {

enum class Cost : std::uint8_t {
  kUnpackedBytes,  // those of compressed sections
  kRows,           // rows of line tables
  kEntries,        // entries of .debug_info, each time that one is read
  kRanges,         // ranges of addresses that are kept, and empty ones
  kSymbols,        // entries of symbol tables
};
inline constexpr std::size_t kCosts = 5;

class Budget {
 public:
  using Counts = std::array<std::uint64_t, kCosts>;
  struct Limits {
    // Several times what the largest browsers and databases have, but less memory, in libdw and
    // here, than the worker may have. A program with a gigabyte of debug information has 17 million
    // rows and 75 million entries. They take a few nanoseconds each, and rows are not kept.
    Counts most{std::uint64_t{512} << 20, std::uint64_t{1} << 26, std::uint64_t{1} << 27,
                std::uint64_t{1} << 23, 8'000'000};
    // The most different rows of one unit, of 16 bytes each.
    std::uint64_t rows_at_once = 2'000'000;
    std::chrono::milliseconds processor_time{10'000};
  };
  Budget() : Budget(Limits()) {}
  explicit Budget(const Limits& limits);

  // Returns false if so much is not left or the time is over. Nothing is spent then.
  bool spend(Cost cost, std::uint64_t count = 1);
  // What was paid for has been given up, and can be paid for again. The time does not come back.
  const Counts& left() const { return left_; }
  Counts spent_since(const Counts& before) const;
  void give_back(const Counts& spent);
  std::uint64_t rows_at_once() const { return limits_.rows_at_once; }
  // Adds time for more addresses.
  void allow(std::chrono::milliseconds more) { time_end_ += more; }
  // Returns what was left out, and which limit was the reason; empty if nothing was.
  std::string left_out() const;

 private:
  bool is_late();

  Limits limits_;
  Counts left_;
  std::array<bool, kCosts> refused_{};
  std::chrono::nanoseconds time_end_;
  unsigned until_asking_ = 0;
  bool late_ = false;
};

}  // namespace labelscope::cli
