// Fuzzes objects of node in memory that the input makes up, and what the process says of their
// layout. The limits hold, and incomplete data gives no label. The input is the recipe's parameter,
// 8 bytes, then the memory (fuzzed_memory.h).
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fuzz/fuzzed_memory.h"
#include "fuzz/fuzzer_check.h"
#include "labelscope/observe.h"
#include "labelscope/process_facts.h"
#include "sources/label_source.h"

using namespace labelscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ls_tls_recipe recipe{};
  recipe.kind = LS_TP_OFFSET;
  recipe.source = LS_SOURCE_NODE;
  if (size < sizeof recipe.parameters[0]) return 0;
  std::memcpy(recipe.parameters, data, sizeof recipe.parameters[0]);
  const FuzzedMemory memory(data + sizeof recipe.parameters[0], size - sizeof recipe.parameters[0]);
  ProcessFacts facts;
  facts.keys = {"route"};
  const ThreadState thread{0x1000, Tid{1}, nullptr, &facts};
  const Observation seen = observe({&recipe, 1}, thread, memory);
  fuzzer_check((seen.outcome == LS_LABELLED) == !seen.labels.empty(), "labelled means labels");
  std::size_t bytes = 0;
  for (const Label& label : seen.labels) bytes += label.key.size() + label.value.size();
  fuzzer_check(bytes <= LS_MAX_LABEL_BYTES + 48, "bytes are bounded");  // IDs as digits are longer
  const ThreadView view{memory, 0x1000, 0, &recipe, &thread};
  const ReadingStory told = find_source(LS_SOURCE_NODE)->explain(view);
  fuzzer_check(!told.steps.empty(), "there is something to tell");
  fuzzer_check(is_unreadable(seen.outcome) == !told.findings.empty() || !seen.labels.empty() ||
                   seen.outcome == LS_UNLABELLED,
               "what failed has a name");
  return 0;
}
