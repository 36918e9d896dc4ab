// Debug files from servers, if the user has set DEBUGINFOD_URLS (debuginfod(8)). The user chose the
// servers, the program only the build ID.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "labelscope/unique_fd.h"

namespace labelscope::cli {

class Debuginfod {
 public:
  // `cancelled` may be empty.
  explicit Debuginfod(std::function<bool()> cancelled) : cancelled_(std::move(cancelled)) {}

  Debuginfod(const Debuginfod&) = delete;
  Debuginfod& operator=(const Debuginfod&) = delete;
  ~Debuginfod();

  // Returns whether the user has named servers.
  static bool has_servers();

  struct Answer {
    UniqueFd file;
    std::string why_not;  // what was not tried, and why; empty if nothing
  };
  // `progress` is called while it waits, with the bytes that have come, and how many there are (0:
  // no server has reported that yet).
  Answer find(const std::string& build_id,
              const std::function<void(std::size_t, std::size_t)>& progress);

 private:
  std::function<bool()> cancelled_;
  std::vector<std::shared_ptr<struct Download>> left_behind_;
  // The time for which we have waited for servers, for all files together.
  std::chrono::steady_clock::duration waited_{};
};

}  // namespace labelscope::cli
