// OpenTelemetry's bytes of a process: the message of its process context, which names the keys, and
// a record that uses them. The input is the record's size (2 bytes), the record, the message.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "fuzz/fuzzer_check.h"
#include "process_context/context_message.h"
#include "sources/otel_context/record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::span<const std::byte> all = std::as_bytes(std::span(data + 2, size - 2));
  const std::size_t of_record = std::min<std::size_t>(all.size(), data[0] | data[1] << 8);
  labelscope::ProcessFacts facts;
  if (auto said = labelscope::parse_context_message(all.subspan(of_record))) {
    fuzzer_check(said->attributes.size() <= labelscope::kMostAttributes, "attributes are bounded");
    fuzzer_check(std::ranges::is_sorted(said->attributes), "attributes are sorted");
    for (const auto& [key, value] : said->attributes) {
      fuzzer_check(!key.empty() && key.size() <= labelscope::kLongestText, "keys are bounded");
      fuzzer_check(value.size() <= 2 * labelscope::kLongestText, "values are bounded");
    }
    if (said->key_map) facts.keys = *std::move(said->key_map);
    fuzzer_check(facts.keys.size() <= labelscope::kMostKeys, "names are bounded");
  }
  const labelscope::Observation seen = labelscope::otel::decode(all.first(of_record), 3, &facts);
  fuzzer_check(seen.outcome < LS_OUTCOME_COUNT, "the outcome is one of ours");
  fuzzer_check((seen.outcome == LS_LABELLED) == !seen.labels.empty(), "labelled means labels");
  for (const labelscope::Label& label : seen.labels) {
    fuzzer_check(label.value.size() <= 255, "a value is as long as its length can tell");
    const bool id = label.key == "trace_id" || label.key == "span_id";
    fuzzer_check(id || std::ranges::find(facts.keys, label.key) != facts.keys.end(),
                 "each key is a name of the process");
    const auto same = [&](const labelscope::Label& other) { return other.key == label.key; };
    fuzzer_check(std::ranges::count_if(seen.labels, same) == 1, "a key appears once");
  }
  return 0;
}
