// Names of code that a process has made at run time, in the file that the process itself writes
// (profile/perf_maps.h). perf(1) has set the form: for each function a line with its start, its size
// (both hexadecimal) and its name.
//
//   7f3a10002000 2c0 JS:*handle /srv/server.js:12:20
//
// Code goes, and other code comes to its place: then there are two lines for it, and the last one
// counts. Anybody may have written anything there, so this runs in the worker, within limits.
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
    // Several times what the largest Java servers write. Of more, the end counts.
    std::size_t bytes = std::size_t{128} << 20;
    std::size_t lines = 2'000'000;
  };

  static Result<PerfMap> read(int fd) { return read(fd, Limits()); }
  static Result<PerfMap> read(int fd, const Limits& limits);
  // `left_out`: what stands before the text was not read.
  static PerfMap parse(std::string text, const Limits& limits, bool left_out = false);

  // Empty: no line is about this address.
  std::string_view find(Address address) const;
  std::size_t lines() const { return functions_.size(); }
  // What was not taken, in words; empty if nothing.
  const std::string& left_out() const { return left_out_; }

 private:
  struct Function {
    Address start = 0;
    Address end = 0;
    std::uint32_t name = 0;  // in text_
    std::uint32_t size = 0;
  };
  struct Part {
    Address start = 0;
    std::uint32_t function = 0;  // the last one that is there
  };
  bool add_line(std::string_view line);
  void lay_out();

  std::string text_;
  std::vector<Function> functions_;  // as they stand in the file
  std::vector<Part> parts_;          // sorted
  std::string left_out_;
};

// The worker's task: as that of kNamesTask, with this file in place of an ELF file.
inline constexpr std::string_view kPerfMapTask = "perf-map";
Answer make_perf_map_task();

}  // namespace labelscope::cli
