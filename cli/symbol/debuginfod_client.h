// Asks the servers of debuginfod for one file, by what is installed:
//
//   labelscope is            asks through
//   linked to shared libc    libdebuginfod, which is loaded then: it needs thirty libraries
//   linked statically        the command debuginfod-find, since it can load none
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>

#include "labelscope/unique_fd.h"

namespace labelscope::cli {

// What the thread that asks and its caller share.
struct Download {
  std::string build_id;
  std::atomic<bool> given_up{false};
  std::atomic<std::size_t> done{0};
  std::atomic<std::size_t> all{0};
  std::mutex mutex;
  std::condition_variable over;
  bool is_over = false;
  UniqueFd file;
  int error = 0;        // why there is no file
  std::string problem;  // the same in words, if there are better ones
};

// Returns what is not installed; empty: servers can be asked.
std::string missing_for_debuginfod();
// Returns the descriptor of the file, or the negative errno: -ENOENT if no server has it. Sets
// `done` and `all` as bytes come, where that is known, and ends once the caller has given up.
int ask_debuginfod(Download& download);

}  // namespace labelscope::cli
