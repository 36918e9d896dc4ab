// Names of code that a process has made at run time, from the file that the process itself writes
// (profile/perf_maps.h). perf(1) has defined its form: for each function a line with its start, its
// size (both hexadecimal) and its name.
//
//   7f3a10002000 2c0 JS:*handle /srv/server.js:12:20
//
// Code goes, and other code comes to its place: then there are two lines for it. Of the lines that
// were there when the code had its first sample, the last one counts. A line that came later may be
// about samples that came later, or not: the file has no times. So an address that had
// several functions meanwhile keeps the name of the first of them, with a mark:
//
//   1000 40 first         <-- first sample: first
//   1000 40 second                          "first [reused]", for all samples at 0x1000 to 0x103f
//
// Anybody may have written anything there, so this runs in the worker, within limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/worker/worker_main.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope::cli {

class PerfMap {
 public:
  struct Limits {
    // Several times what the largest Java servers write. If there is more, the end counts.
    std::size_t bytes = std::size_t{128} << 20;
    std::size_t lines = 2'000'000;
  };

  // `first`: so long was the file at the first sample; where that is not known, all of it.
  static Result<PerfMap> read(int fd, std::uint64_t first) { return read(fd, Limits(), first); }
  static Result<PerfMap> read(int fd, const Limits& limits, std::uint64_t first = UINT64_MAX);
  // `left_out`: what stands before the text was not read. `first` counts from the text's start.
  static PerfMap parse(std::string text, const Limits& limits, bool left_out = false,
                       std::uint64_t first = UINT64_MAX);

  struct Match {
    std::string_view name;  // empty: no line is about this address
    bool reused = false;    // later it was another function's
  };
  Match look_up(Address address) const;
  std::string_view find(Address address) const { return look_up(address).name; }
  std::size_t lines() const { return functions_.size(); }
  // Returns what was not read, in words; empty if nothing.
  const std::string& left_out() const { return left_out_; }

 private:
  struct Function {
    Address start = 0;
    Address end = 0;
    std::uint32_t name = 0;  // position in text_
    std::uint32_t size = 0;
  };
  struct Part {
    Address start = 0;
    std::uint32_t function = kNobody;  // the last line that covers the part
    bool reused = false;
  };
  static constexpr std::uint32_t kNobody = UINT32_MAX;
  bool add_line(std::string_view line);
  void lay_out();
  Part owner(Address start, const std::set<std::uint32_t>& here) const;
  std::string_view name_of(std::uint32_t function) const;

  std::string text_;
  std::vector<Function> functions_;  // in the order of the file
  std::vector<Part> parts_;          // sorted by start
  std::uint32_t at_first_ = 0;       // so many were there at the first sample
  std::string left_out_;
};

// The worker's task: like kNamesTask, with this file in place of an ELF file.
inline constexpr std::string_view kPerfMapTask = "perf-map";
Answer make_perf_map_task();

}  // namespace labelscope::cli
