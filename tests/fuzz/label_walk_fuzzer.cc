// A recipe, and memory that the input makes up: whatever they are, the limits hold. The input is
// the recipe, then pages: {page number, length, bytes}, which an address space of 16 pages repeats
// for ever, so that wild pointers hit something.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fuzz/fuzzer_check.h"
#include "labelscope/observe.h"
#include "labelscope/locate.h"

namespace {

using labelscope::Address;

class FuzzedMemory final : public labelscope::MemorySource {
 public:
  FuzzedMemory(const std::uint8_t* data, std::size_t size) {
    while (size > 2) {
      auto& page = pages_[data[0] % kPages];
      const std::size_t count = std::min<std::size_t>(size - 2, std::size_t{data[1]} * 4);
      std::memcpy(page.data(), data + 2, count);
      present_[data[0] % kPages] = true;
      data += 2 + count;
      size -= 2 + count;
    }
  }
  labelscope::Status read(Address address, std::span<std::byte> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Address at = address + i;
      const std::size_t page = at / kPageSize % kPages;
      if (!present_[page]) return labelscope::Error{labelscope::ErrorCode::kUnreadable, "a hole"};
      out[i] = pages_[page][at % kPageSize];
    }
    return {};
  }

 private:
  static constexpr std::size_t kPages = 16;
  static constexpr std::size_t kPageSize = 1024;
  std::array<std::array<std::byte, kPageSize>, kPages> pages_{};
  std::array<bool, kPages> present_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ls_tls_recipe recipe{};
  if (size < sizeof recipe) return 0;
  std::memcpy(&recipe, data, sizeof recipe);
  recipe.kind %= 4;
  const FuzzedMemory memory(data + sizeof recipe, size - sizeof recipe);
  const labelscope::Observation seen = labelscope::observe(std::span(&recipe, 1), 0x1000, memory);
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
