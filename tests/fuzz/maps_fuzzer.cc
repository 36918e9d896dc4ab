// The text of a maps file is parsed, or refused with a line number.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/fuzzer_check.h"
#include "labelscope/mapping.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto mappings =
      labelscope::parse_maps(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!mappings) {
    fuzzer_check(mappings.error().code == labelscope::ErrorCode::kMalformed, "it is malformed");
    fuzzer_check(mappings.error().context.starts_with("line "), "the error names the line");
    return 0;
  }
  for (const labelscope::Mapping& mapping : *mappings) {
    fuzzer_check(mapping.start < mapping.end, "a mapping has a byte");
    fuzzer_check(mapping.path.find('\n') == std::string::npos, "a path is on its line");
    const labelscope::Mapping* found = labelscope::find_mapping(*mappings, mapping.start);
    fuzzer_check(found == nullptr || (found->start <= mapping.start && mapping.start < found->end),
                 "what is found contains the address");
  }
  return 0;
}
