// The kernel side as a test sees it. It gets a process's recipes and made-up memory, and returns an
// Observation, decoded from the same record that would go through the ring buffer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "bpf/wire/records.h"
#include "labelscope/preset_plan.h"
#include "native/native_walk.h"
#include "support/catch.h"
#include "support/fake_memory.h"

namespace labelscope::test {

// Only one may exist at a time: the helpers of the kernel side are functions without a context.
class NativeReader {
 public:
  explicit NativeReader(const FakeMemory& memory) {
    current = &memory;
    fake_probe_read_user = [](void* out, __u32 size, __u64 address) -> long {
      Status status = current->read(address, {static_cast<std::byte*>(out), size});
      return status ? 0 : -14;
    };
    fake_preset = [](std::uint32_t number) -> const ls_preset_program* {
      const PresetPlan* plan = presets == nullptr ? nullptr : presets->find(number);
      return plan != nullptr ? &plan->program : nullptr;
    };
  }

  // `thread_number` and `x28` are for recipes of Go.
  Observation observe(std::span<const ls_tls_recipe> recipes, Address thread_pointer,
                      const Meanings& by = {}, std::uint32_t thread_number = 0,
                      std::uint64_t x28 = 0) {
    fake_thread_number = thread_number;
    presets = by.presets;
    ls_recipes all{};
    all.count = static_cast<std::uint32_t>(recipes.size());
    std::copy(recipes.begin(), recipes.end(), all.recipe);
    native_record sent = native_observe(&all, thread_pointer, x28);
    fault_address_ = sent.fault_address;
    fault_size_ = sent.fault_size;
    const auto* bytes = static_cast<const std::byte*>(sent.bytes);
    record_.assign(bytes, bytes + sent.size);

    auto record = decode_record(record_);
    INFO((record ? "" : record.error().context));
    REQUIRE(record);
    const auto& answer = std::get<AnswerRecord>(*record);
    key_.clear();
    append_label_bytes(answer.labels, key_);
    return observation_of(answer.labels, by);
  }

  // Reads a variable at a fixed place.
  Observation observe_variable(Address variable) {
    ls_tls_recipe recipe{};
    recipe.kind = LS_TP_OFFSET;
    recipe.offset = static_cast<std::int64_t>(variable) - kThreadPointer;
    return observe({&recipe, 1}, kThreadPointer);
  }

  const std::vector<std::byte>& record() const { return record_; }
  const std::vector<std::byte>& label_bytes() const { return key_; }
  std::uint64_t fault_address() const { return fault_address_; }
  std::uint64_t fault_size() const { return fault_size_; }

 private:
  static constexpr std::int64_t kThreadPointer = 0x7000'0000;
  static inline const FakeMemory* current = nullptr;
  static inline const PresetPlans* presets = nullptr;
  std::vector<std::byte> record_;
  std::vector<std::byte> key_;
  std::uint64_t fault_address_ = 0;
  std::uint64_t fault_size_ = 0;
};

}  // namespace labelscope::test
