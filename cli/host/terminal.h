// This is what the terminal of a stream can show, and the line that is redrawn there.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/host/check_effort.h"

namespace labelscope::cli {

enum class ColorMode { kAuto, kAlways, kNever };  // --color

// Decides by the mode, by NO_COLOR, and by whether it is a terminal with colours (TERM).
bool use_color(ColorMode mode, int fd);
// Returns 0 if it is no terminal.
std::size_t terminal_width(int fd);
// Returns whether the locale uses UTF-8.
bool shows_unicode();

// The status line of a recording or a check. It is shown on a terminal only, redrawn in place, and
// removed at the end.
class Progress {
 public:
  // Draws nothing if `wanted` is false or stderr is no terminal.
  explicit Progress(bool wanted);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  struct State {
    std::chrono::nanoseconds elapsed{};
    std::optional<std::chrono::nanoseconds> duration;
    std::uint64_t samples = 0;
    std::uint64_t labelled = 0;
    std::uint64_t dropped = 0;
  };
  // Draws at most ten times a second, and asks for the state only then.
  void recording(const std::function<State()>& state);
  // The same for a check of a process. Parts that are 0 are not shown.
  void checking(std::chrono::nanoseconds elapsed, std::chrono::nanoseconds timeout,
                const CheckEffort& effort);
  // Draws "symbolizing 1,200 of 3,400 addresses" and the like.
  void working(const std::string& what, std::size_t done, std::size_t all);
  // Draws how many bytes of a file's debug symbols came from servers. `all` 0: their number is not
  // known.
  void fetching(const std::string& path, std::size_t done, std::size_t all);
  void clear();

 private:
  bool due();
  void draw(std::string line);
  bool active_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace labelscope::cli
