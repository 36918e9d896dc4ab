// Fuzzes a recipe, and memory that the input makes up. Whatever they are, the limits hold. The
// input is the recipe, then the memory (fuzzed_memory.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fuzz/fuzzed_memory.h"
#include "fuzz/fuzzer_check.h"
#include "labelscope/observe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ls_tls_recipe recipe{};
  if (size < sizeof recipe) return 0;
  std::memcpy(&recipe, data, sizeof recipe);
  recipe.kind %= LS_FIRST_THREAD_AT_ADDRESS + 1;
  const FuzzedMemory memory(data + sizeof recipe, size - sizeof recipe);
  const labelscope::Observation seen = labelscope::observe(std::span(&recipe, 1), {0x1000}, memory);
  fuzzer_check(seen.outcome < LS_OUTCOME_COUNT, "the outcome is one of ours");
  fuzzer_check((seen.outcome == LS_LABELLED) == !seen.labels.empty(), "labelled means labels");
  fuzzer_check(seen.labels.size() <= LS_MAX_LABELS, "labels are bounded");
  std::size_t bytes = 0;
  for (const labelscope::Label& label : seen.labels) {
    bytes += label.key.size() + label.value.size();
    const auto same = [&](const labelscope::Label& other) { return other.key == label.key; };
    fuzzer_check(std::count_if(seen.labels.begin(), seen.labels.end(), same) == 1,
                 "a key appears once");
  }
  fuzzer_check(bytes <= LS_MAX_LABEL_BYTES, "bytes are bounded");
  return 0;
}
