// Names of code that a process has made at run time, from the file that the process itself writes
// (profile/perf_maps.h). perf(1) has defined its form: for each function a line with its start, its
// size (both hexadecimal) and its name.
//
//   7f3a10002000 2c0 JS:*handle /srv/server.js:12:20
//
// If code is replaced by other code at the same place, there are two lines for it, and the last one
// counts. Other programs may have written anything there, so this runs in the worker, within
// limits.
#pragma once

#include <cstdint>
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

  static Result<PerfMap> read(int fd) { return read(fd, Limits()); }
  static Result<PerfMap> read(int fd, const Limits& limits);
  // `left_out`: the part of the file before the text was not read.
  static PerfMap parse(std::string text, const Limits& limits, bool left_out = false);

  // Returns the empty text if no line is about this address.
  std::string_view find(Address address) const;
  std::size_t lines() const { return functions_.size(); }
  // What was not read, in words; empty if nothing.
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
    std::uint32_t function = 0;  // the last line that covers the part
  };
  bool add_line(std::string_view line);
  void lay_out();

  std::string text_;
  std::vector<Function> functions_;  // in the order of the file
  std::vector<Part> parts_;          // sorted by start
  std::string left_out_;
};

// The worker's task: like kNamesTask, with this file in place of an ELF file.
inline constexpr std::string_view kPerfMapTask = "perf-map";
Answer make_perf_map_task();

}  // namespace labelscope::cli
