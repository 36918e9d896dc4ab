// Fuzzes the perf map that a process writes about its own code.
//
//   input = the text of a perf map
#include <string>

#include "cli/names/perf_map.h"
#include "fuzz/fuzzer_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using labelscope::cli::PerfMap;
  PerfMap::Limits limits;
  limits.lines = 100;
  const PerfMap map =
      PerfMap::parse(std::string(reinterpret_cast<const char*>(data), size), limits, size % 2 != 0);
  fuzzer_check(map.lines() <= limits.lines, "no more lines than are wanted");
  for (labelscope::Address at = 0; at < 0x4000; at += 0x101) {
    fuzzer_check(map.find(at).size() <= size, "a name is a part of the text");
  }
  fuzzer_check(map.find(UINT64_MAX).empty(), "no function reaches the last address");
  return 0;
}
