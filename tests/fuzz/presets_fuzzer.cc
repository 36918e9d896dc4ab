// What presets are made of: their text, the code of functions that should be accessors, and values
// that a transform makes smaller.
//
//   input = kind, text or code
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/fuzzer_check.h"
#include "labelscope/preset_program.h"
#include "sources/preset/accessor.h"
#include "sources/preset/preset_compile.h"
#include "sources/preset/preset_file.h"

namespace {

using namespace labelscope;

// The kinds are digits, so that a corpus can be typed.
enum Input : char { kText = '0', kX86, kAarch64, kValue };

void parse(std::string_view text) {
  const auto preset = parse_preset(text);
  if (!preset) {
    fuzzer_check(preset.error().code == ErrorCode::kMalformed, "it is malformed");
    fuzzer_check(!preset.error().context.empty(), "an error says what it is");
    return;
  }
  fuzzer_check(!preset->name.empty() && preset->version > 0, "it has a name and a version");
  fuzzer_check(!preset->labels.empty() && preset->labels.size() <= LS_PRESET_LABELS,
               "it has labels, and no more than a program has");
  fuzzer_check(preset->variants.size() <= kMostPresetVariants, "variants are bounded");
  for (const DescribedLabel& label : preset->labels) {
    fuzzer_check(!label.key.empty(), "a label has a key");
    fuzzer_check(label.value.type || label.value.base == PresetExpression::Base::kTitle,
                 "a value has a type");
    for (const PresetStep& step : label.value.steps) {
      fuzzer_check(step.number.value >= 0 && step.number.value <= kMostPresetOffset,
                   "offsets are bounded");
    }
  }
}

void decode(Machine machine, std::span<const std::byte> code) {
  const auto accessor = decode_accessor(machine, code, 0x401000);
  if (!accessor) {
    fuzzer_check(accessor.error().context.starts_with("it"), "a refusal says what the code does");
    return;
  }
  fuzzer_check(!accessor->offsets.empty() && accessor->offsets.size() <= 8, "a way is bounded");
  fuzzer_check(
      accessor->size == 1 || accessor->size == 2 || accessor->size == 4 || accessor->size == 8,
      "a load has a size");
  fuzzer_check(!accessor->returns_place || accessor->size == 8, "a place is an address");
}

void transform(const std::string& value) {
  using Kind = PresetTransform::Kind;
  for (const Kind kind : {Kind::kPath, Kind::kWord, Kind::kAfter, Kind::kFingerprint, Kind::kMap}) {
    DescribedLabel label;
    label.transforms = {{.kind = kind, .word = 2, .after = "a", .map = {{"1", "one"}}}};
    const auto made = transform_value(label, value);
    fuzzer_check(!made || kind == Kind::kMap || made->size() <= value.size(),
                 "a transform leaves something out, and adds nothing");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::span<const std::byte> code(reinterpret_cast<const std::byte*>(data + 1), size - 1);
  switch (data[0]) {
    case kText:
      parse(text);
      break;
    case kX86:
      decode(Machine::kX86_64, code);
      break;
    case kAarch64:
      decode(Machine::kAarch64, code);
      break;
    case kValue:
      transform(text);
      break;
    default:
      break;
  }
  return 0;
}
