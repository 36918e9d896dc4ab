// Has a row for each kind of file. Those that begin with certain bytes come first; then texts,
// which are recognized by their first line.
#include "cli/format/common/foreign_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace labelscope::cli {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kOfGo =
    "; go tool pprof -proto FILE >FILE.pb.gz makes a pprof file of it";
constexpr std::string_view kOfProgram =
    "; go tool pprof -proto PROGRAM FILE >FILE.pb.gz makes a pprof file of it";
constexpr std::string_view kOfPerf =
    "; perf_to_profile -i perf.data -o FILE.pb.gz (perf_data_converter) makes a pprof file of "
    "perf's recording";
constexpr std::string_view kOfFirst = "; unpack it first";
constexpr std::string_view kNone;

struct Beginning {
  std::string_view bytes;
  std::string_view what;
  std::string_view advice;
};

constexpr Beginning kBeginnings[] = {
    {"PERFILE2", "a recording of perf (perf.data)", kOfPerf},
    {"PERFFILE", "a recording of an old perf (perf.data)", kOfPerf},
    {"# ========\n# captured on", "the text of perf script", kOfPerf},
    {"heap profile:", "a heap profile as text", kOfProgram},
    {"goroutine profile: total", "a goroutine profile as text (debug=1)", kOfGo},
    {"threadcreate profile: total", "a thread profile as text (debug=1)", kOfGo},
    {"--- mutex:", "a mutex profile as text (debug=1)", kOfGo},
    {"--- contention", "a profile of contention as text (debug=1)", kOfGo},
    {"--- heapz", "a heap profile as text", kOfProgram},
    {"goroutine ", "a dump of goroutines as text (debug=2)",
     ", which has no numbers; take the goroutine profile without debug=2"},
    {"FLR\0"sv, "a recording of Java's Flight Recorder (.jfr)",
     "; jfrconv -o pb.gz FILE (async-profiler) makes a pprof file of it"},
    {"# callgrind format", "a profile of callgrind", ", which no program makes a pprof file of"},
    {"version: 1\ncreator: callgrind", "a profile of callgrind",
     ", which no program makes a pprof file of"},
    {"\x28\xB5\x2F\xFD", "compressed by zstd", kOfFirst},
    {"\xFD"
     "7zXZ",
     "compressed by xz", kOfFirst},
    {"BZh", "compressed by bzip2", kOfFirst},
    {"PK\3\4", "a ZIP archive", kOfFirst},
    {"\x7F"
     "ELF",
     "a program or a library, not a profile", kNone},
};

// Recognizes "main;work 12": the last word of a line of folded stacks is a number.
bool ends_with_number(std::string_view line) {
  const std::size_t space = line.rfind(' ');
  return space != line.npos && space + 1 < line.size() &&
         line.find_first_not_of("0123456789", space + 1) == line.npos;
}

// Both formats begin with a message as field 1: in OTLP it holds messages, in pprof numbers.
bool is_otlp(std::string_view bytes) {
  constexpr char kFirstMessage = 0x0a;
  constexpr char kSecondMessage = 0x12;
  if (!bytes.starts_with(kFirstMessage)) return false;
  std::size_t at = 1;  // position in the length
  while (at < bytes.size() && (bytes[at] & 0x80) != 0) ++at;
  const bool empty = at == 1 && bytes.substr(1, 1) == "\0"sv;
  return !empty && at + 1 < bytes.size() &&
         (bytes[at + 1] == kFirstMessage || bytes[at + 1] == kSecondMessage);
}

// gperftools' old CPU profiles are machine words: 0, 3 (words of the head), 0 (the version), the
// period, 0.
bool is_old_gperftools(std::string_view bytes) {
  const auto head = [&]<class Word>(Word) {
    Word words[3];
    if (bytes.size() < sizeof words) return false;
    std::memcpy(words, bytes.data(), sizeof words);
    return words[0] == 0 && words[1] == 3 && words[2] == 0;
  };
  return head(std::uint64_t{}) || head(std::uint32_t{});
}

// Recognizes "shop  4242 [001]  7012.345678:   10101010 cpu-clock:": the time has a point in it,
// ends in a colon, and a number of a thread or of a processor comes before it.
bool is_perf_script(std::string_view line) {
  constexpr std::string_view kDigits = "0123456789";
  bool number = false;
  while (!line.empty()) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(" \t"));
    line.remove_prefix(word.size());
    const bool time = word.size() > 3 && word.ends_with(':') &&
                      word.find_first_not_of("0123456789.:") == word.npos &&
                      word.find('.') != word.npos && word.find(':') == word.size() - 1;
    if (time) return number && line.find(':') != line.npos;
    number |= !word.empty() && word.find_first_not_of("0123456789/[]") == word.npos &&
              word.find_first_of(kDigits) != word.npos;
  }
  return false;
}

// Names the format of a file that labelscope writes but does not read; empty: it is no such file.
std::string_view written_only(std::string_view bytes, std::string_view line) {
  if (is_otlp(bytes)) return "profiles of OpenTelemetry (OTLP)";
  if (line.find(",function,module,stack_end,outcome,") != line.npos) return "a table (.csv)";
  if (line.starts_with("<!doctype html>")) return "a page (.html)";
  if (line.starts_with("<svg ") || line.starts_with("<?xml ")) return "a picture (.svg)";
  if (line.starts_with('{') && line.find("www.speedscope.app") != line.npos) {
    return "a profile for speedscope (.speedscope.json)";
  }
  if (line.starts_with("{\"meta\":")) return "a profile for Firefox (.firefox.json)";
  const bool text = line.find('\0') == line.npos;
  return text && ends_with_number(line) ? "folded stacks (.folded)" : "";
}

}  // namespace

std::string why_not_read(std::string_view begin) {
  for (const Beginning& known : kBeginnings) {
    if (begin.starts_with(known.bytes)) {
      return "it is " + std::string(known.what) + std::string(known.advice);
    }
  }
  const std::string_view line = begin.substr(0, begin.find_first_of("\r\n"));
  if (is_old_gperftools(begin)) {
    return "it is a CPU profile of gperftools" + std::string(kOfProgram);
  }
  if (is_perf_script(line)) return "it is the text of perf script" + std::string(kOfPerf);
  if (line.starts_with('{') || line.starts_with('[')) {
    if (line.find("\"traceEvents\"") != line.npos || line.starts_with("[{\"")) {
      return "it is a trace for Chrome, which has no samples";
    }
    if (line.find("\"timeDeltas\"") != line.npos || line.starts_with("{\"nodes\":")) {
      return "it is a CPU profile of V8 (.cpuprofile), which is not read";
    }
  }
  if (const std::string_view what = written_only(begin, line); !what.empty()) {
    return "it holds " + std::string(what) +
           ", which labelscope writes and does not read; read the recording (.jsonl) or the pprof "
           "file of the same samples";
  }
  return {};
}

}  // namespace labelscope::cli
