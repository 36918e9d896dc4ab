// Tests files of other tools: the message names each format, and the program that makes a pprof
// file of it.
#include "cli/format/common/foreign_file.h"

#include <sstream>

#include "cli/format/recording_reader.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace std::string_literals;

namespace {

std::string refusal(const std::string& bytes) {
  std::istringstream in(bytes);
  const auto back = read_recording(in);
  REQUIRE_FALSE(back);
  CHECK(back.error().code == ErrorCode::kUnsupported);
  return back.error().context;
}

std::string words(std::initializer_list<std::uint64_t> numbers) {
  std::string bytes;
  for (const std::uint64_t number : numbers) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  return bytes;
}

}  // namespace

TEST_CASE("foreign_file: what it is, and what makes a pprof file of it") {
  const struct {
    std::string bytes;
    const char* what;
    const char* advice;
  } cases[] = {
      {"PERFILE2" + std::string(100, '\0'), "perf.data", "perf_to_profile"},
      {"shop  4242 [001]  7012.345678:   10101010 cpu-clock:u: \n\tffff work (/opt/shop)\n",
       "perf script", "perf_to_profile"},
      {"shop 4242/4251 7012.345678: cycles: \n", "perf script", "perf_to_profile"},
      {"heap profile: 1: 1048576 [2: 2097152] @ heap/1048576\n", "heap profile as text",
       "go tool pprof -proto"},
      {"goroutine profile: total 6\n1 @ 0x1 0x2\n", "goroutine profile as text",
       "go tool pprof -proto"},
      {"threadcreate profile: total 6\n", "thread profile as text", "go tool pprof -proto"},
      {"--- mutex:\ncycles/second=1\n", "mutex profile as text", "go tool pprof -proto"},
      {"--- contention:\ncycles/second=1\n", "contention as text", "go tool pprof -proto"},
      {"goroutine 1 [running]:\nmain.main()\n", "dump of goroutines", "without debug=2"},
      {words({0, 3, 0, 10000, 0, 1, 1, 0x401000}), "CPU profile of gperftools",
       "go tool pprof -proto PROGRAM"},
      {"FLR\0\0\2"s, "Flight Recorder", "jfrconv"},
      {"# callgrind format\nversion: 1\n", "callgrind", "no program"},
      {"\x28\xB5\x2F\xFD\4"s, "zstd", "unpack it first"},
      {"\x7F"
       "ELF\2\1\1"s,
       "a program", "not a profile"},
      {"{\"traceEvents\":[]}\n", "Chrome", "no samples"},
      {"{\"nodes\":[],\"timeDeltas\":[]}\n", "V8", "not read"},
      {"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"}", "speedscope",
       "writes and does not read"},
      {"main;work 12\n", "folded stacks", "writes and does not read"},
  };
  for (const auto& [bytes, what, advice] : cases) {
    const std::string said = refusal(bytes);
    INFO(said);
    CHECK(said.find(what) != std::string::npos);
    CHECK(said.find(advice) != std::string::npos);
  }
}

TEST_CASE("foreign_file: a text, a number and nothing are none of them") {
  for (const char* text : {"", "root:x:0:0::/root:/bin/sh\n", "1 2 3", "goroutines are light\n",
                           "at 12.5: nothing\n"}) {
    INFO(text);
    CHECK((why_not_read(text).empty() || std::string(text) == "1 2 3"));
  }
}
