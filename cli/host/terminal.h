// What the terminal behind a stream can show, and the line that is redrawn there.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/host/check_effort.h"

namespace labelscope::cli {

enum class ColorMode { kAuto, kAlways, kNever };  // --color

// The mode, NO_COLOR, and whether it is a terminal at all, one that has colours (TERM).
bool use_color(ColorMode mode, int fd);
// 0: it is no terminal.
std::size_t terminal_width(int fd);
// UTF-8 by the locale.
bool shows_unicode();

// The status line of a recording or a check, on a terminal only: redrawn in place, gone when it is
// over.
class Progress {
 public:
  // `wanted` false, or stderr no terminal: nothing is ever drawn.
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
  // At most ten times a second; other calls return at once.
  void recording(const State& state);
  // The same for a check of a process. What is 0 is not shown.
  void checking(std::chrono::nanoseconds elapsed, std::chrono::nanoseconds timeout,
                const CheckEffort& effort);
  // "symbolizing 1,200 of 3,400 addresses" and the like.
  void working(const std::string& what, std::size_t done, std::size_t all);
  // Bytes of the debug symbols of a file, from servers. `all` 0: not known.
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
