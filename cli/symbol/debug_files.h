// Finds debug information that is in separate files: by build ID and debug link, under
// /usr/lib/debug and beside the file, and on debuginfod servers if the user has set
// DEBUGINFOD_URLS. All as libdwfl does it, but with a bound on the time.
#pragma once

#include <elfutils/libdwfl.h>

#include <chrono>
#include <functional>
#include <string>

namespace labelscope::cli {

class DebugFiles {
 public:
  // `cancelled` may be empty.
  explicit DebugFiles(std::function<bool()> cancelled) : cancelled_(std::move(cancelled)) {}
  DebugFiles(const DebugFiles&) = delete;
  DebugFiles& operator=(const DebugFiles&) = delete;

  // The find_debuginfo callback of libdwfl; *userdata is the DebugFiles.
  static int find(Dwfl_Module* module, void** userdata, const char* module_name, Dwarf_Addr base,
                  const char* file_name, const char* debug_link, GElf_Word crc, char** debug_file);

  // Bounds the time of this session's downloads. Call once after dwfl_begin().
  void watch_downloads(Dwfl* dwfl);

  const std::function<bool()>& cancelled() const { return cancelled_; }
  // Says in words what was left out; empty if nothing was.
  const std::string& problem() const { return problem_; }

 private:
  static int on_progress(debuginfod_client* client, long done, long total);
  bool must_stop();

  std::function<bool()> cancelled_;
  std::string problem_;
  // The time for which we have waited for servers, for all modules together.
  std::chrono::steady_clock::duration waited_{};
  std::chrono::steady_clock::time_point search_start_{};
};

}  // namespace labelscope::cli
