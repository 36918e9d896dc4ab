// libbpf has one printer for the whole process, so this has one buffer behind one lock.
#include "bpf/libbpf_log.h"

#include <bpf/libbpf.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string_view>

namespace labelscope {
namespace {

// A verifier's log may have megabytes; the verdict is at its end.
constexpr std::size_t kKept = 16384;
constexpr std::size_t kLastWords = 600;
// Around what the verifier said, which libbpf shows of a refused program only.
constexpr std::string_view kVerdictBegins = "-- BEGIN PROG LOAD LOG --\n";
constexpr std::string_view kVerdictEnds = "-- END PROG LOAD LOG --";

std::mutex one_at_a_time;
std::string text;
libbpf_print_fn_t previous = nullptr;

__attribute__((format(printf, 2, 0))) int keep(libbpf_print_level level, const char* format,
                                               std::va_list arguments) {
  if (level == LIBBPF_DEBUG) return 0;
  std::va_list again;
  va_copy(again, arguments);
  int length = std::vsnprintf(nullptr, 0, format, arguments);
  if (length > 0) {
    std::string message(static_cast<std::size_t>(length) + 1, '\0');
    std::vsnprintf(message.data(), message.size(), format, again);
    message.pop_back();
    text += message;
    if (text.size() > kKept) text.erase(0, text.size() - kKept);
  }
  va_end(again);
  return 0;
}

std::string end_of(std::string_view said) {
  if (said.size() > kLastWords) {
    said.remove_prefix(said.size() - kLastWords);
    said.remove_prefix(std::min(said.find('\n') + 1, said.size()));  // whole lines
  }
  std::string line;
  for (char c : said) line += c == '\n' ? ' ' : c;
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace

LibbpfLog::LibbpfLog() {
  one_at_a_time.lock();
  text.clear();
  previous = libbpf_set_print(keep);
}

LibbpfLog::~LibbpfLog() {
  libbpf_set_print(previous);
  one_at_a_time.unlock();
}

std::string LibbpfLog::last_words() const { return end_of(text); }

std::string LibbpfLog::verdict() const {
  const std::size_t end = text.rfind(kVerdictEnds);
  if (end == std::string::npos) return {};
  std::string_view said = std::string_view(text).substr(0, end);
  // The beginning of a long one was not kept.
  if (const std::size_t begin = said.rfind(kVerdictBegins); begin != std::string_view::npos)
    said.remove_prefix(begin + kVerdictBegins.size());
  return end_of(said);
}

}  // namespace labelscope
