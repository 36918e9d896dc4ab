// Fuzzes a goroutine in memory that the input makes up. Whatever is there, the limits hold, and
// incomplete data gives no label. The input is the version of Go, the thread's number and whether g
// is in a register, then the memory (fuzzed_memory.h). The fuzzer of ELF files reads what files say
// of Go.
#include <cstddef>
#include <cstdint>

#include "fuzz/fuzzed_memory.h"
#include "fuzz/fuzzer_check.h"
#include "sources/go_labels/go_walk.h"

using namespace labelscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kHead = 3;
  constexpr Address kPlace = 0x1000;
  if (size < kHead) return 0;
  const auto layout = go_layout(kOldestGo + data[0] % (kNewestGo - kOldestGo + 1));
  ls_tls_recipe recipe{};
  recipe.kind = (data[2] & 1) != 0 ? LS_IN_REGISTER : LS_TP_OFFSET;
  put_parameters({*layout, 1, Address{1} << 48}, recipe);
  const FuzzedMemory memory(data + kHead, size - kHead);
  GoTrace trace;
  const Observation seen = walk_go_labels(memory, recipe, kPlace, Tid{data[1]}, 0, &trace);
  fuzzer_check((seen.outcome == LS_LABELLED) == !seen.labels.empty(), "labelled means labels");
  fuzzer_check((seen.outcome > LS_UNLABELLED) == !trace.problem.empty(), "what failed has a name");
  fuzzer_check((seen.flags & LS_NO_GOROUTINE) == 0 || seen.outcome == LS_UNLABELLED,
               "no goroutine means no labels");
  fuzzer_check(seen.labels.size() <= LS_MAX_LABELS, "labels are bounded");
  fuzzer_check(trace.buckets <= kMostGoBuckets, "buckets are bounded");
  std::size_t bytes = 0;
  for (const Label& label : seen.labels) bytes += label.key.size() + label.value.size();
  fuzzer_check(bytes <= LS_MAX_LABEL_BYTES, "bytes are bounded");
  return 0;
}
