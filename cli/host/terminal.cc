// Colours, columns, and the status line.
#include "cli/host/terminal.h"

#include <langinfo.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "cli/text/escape.h"
#include "cli/text/shares.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

constexpr std::chrono::milliseconds kInterval{100};

std::string seconds(std::chrono::nanoseconds time) {
  return decimal(std::chrono::duration<double>(time).count(), 1);
}

// Returns whether the terminal knows colours and other control sequences.
bool takes_sequences(int fd) {
  const char* term = std::getenv("TERM");
  return ::isatty(fd) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

// The value that setlocale(3) would use for characters.
std::string_view named_locale() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nobody sets it
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

bool is_of_utf8(std::string_view locale) {
  const auto point = locale.find('.');
  if (point == std::string_view::npos) return false;
  const std::string_view codeset = locale.substr(point + 1);
  return ::strncasecmp(codeset.data(), "utf-8", 5) == 0 ||
         ::strncasecmp(codeset.data(), "utf8", 4) == 0;
}

}  // namespace

bool use_color(ColorMode mode, int fd) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  const char* no_color = std::getenv("NO_COLOR");
  return takes_sequences(fd) && (no_color == nullptr || *no_color == '\0');
}

std::size_t terminal_width(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// A locale that is not installed, as in a container, still says what the terminal shows.
bool shows_unicode() {
  if (std::string_view(::nl_langinfo(CODESET)) == "UTF-8") return true;
  const char* known = std::setlocale(LC_CTYPE, nullptr);
  return known != nullptr && std::string_view(known) == "C" && is_of_utf8(named_locale());
}

Progress::Progress(bool wanted) : active_(wanted && takes_sequences(STDERR_FILENO)) {}

bool Progress::due() {
  if (!active_) return false;
  auto now = std::chrono::steady_clock::now();
  if (now - last_ < kInterval) return false;
  last_ = now;
  return true;
}

void Progress::draw(std::string line) {
  // A line that wraps could not be redrawn.
  const std::size_t width = terminal_width(STDERR_FILENO);
  if (width > 1) line = first_columns(line, width - 1);
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::recording(const std::function<State()>& ask) {
  if (!due()) return;
  const State state = ask();
  std::string line = seconds(state.elapsed);
  if (state.duration) line += " of " + seconds(*state.duration);
  line += " s · " + with_thousands(state.samples) +
          (state.samples == 1 ? " sample · " : " samples · ") +
          percent(state.labelled, state.samples) + " labelled";
  if (state.dropped > 0) line += " · " + with_thousands(state.dropped) + " dropped";
  line += " · Ctrl-C stops and writes";
  draw(line);
}

void Progress::checking(std::chrono::nanoseconds elapsed, std::chrono::nanoseconds timeout,
                        const CheckEffort& effort) {
  if (!due()) return;
  std::string line = seconds(elapsed) + " of " + seconds(timeout) + " s";
  const auto add = [&](std::uint64_t number, const char* one, const char* many) {
    if (number != 0) line += " · " + with_thousands(number) + (number == 1 ? one : many);
  };
  add(effort.samples, " label set", " label sets");
  add(effort.steps, " instruction", " instructions");
  add(effort.updates, " update", " updates");
  add(effort.threads, " thread", " threads");
  draw(line + " · Ctrl-C stops and shows the result");
}

void Progress::working(const std::string& what, std::size_t done, std::size_t all) {
  if (!due()) return;
  draw(what + " " + with_thousands(done) + " of " + with_thousands(all));
}

void Progress::fetching(const std::string& path, std::size_t done, std::size_t all) {
  if (!due()) return;
  std::string line = "Fetching debug symbols of " + escape_terminal(base_name(path));
  if (all != 0) {
    line += ": " + with_thousands(done / 1024) + " of " + with_thousands(all / 1024) + " KiB";
  }
  draw(line + " · Ctrl-C goes on without");
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace labelscope::cli
