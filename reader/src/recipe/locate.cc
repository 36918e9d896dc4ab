// This applies a TLS recipe. tls_recipe.h has the rules.
#include <array>

#include "labelscope/observe.h"
#include "recipe/locate_trace.h"

namespace labelscope {
namespace {

// glibc marks an entry without a block with -1 (TLS_DTV_UNALLOCATED); a fresh entry is 0.
bool allocated(std::uint64_t block) { return block != 0 && block != UINT64_MAX; }

Located never_touched() { return {std::nullopt, LS_UNLABELLED, LS_NEVER_TOUCHED}; }
Located unreadable(ls_outcome outcome) { return {std::nullopt, outcome, 0}; }
Located at_address(const ls_tls_recipe& recipe) {
  return {static_cast<Address>(recipe.offset), LS_UNLABELLED, 0};
}

struct DtvHead {
  std::uint64_t length = 0;
  std::uint64_t generation = 0;  // stays 0 if the recipe does not need it
};

// In glibc the length is two words before the generation, so one read takes both. Another layout,
// which no known libc has, takes two reads.
constexpr std::int16_t kGlibcLengthOffset = -16;

Result<DtvHead> read_head(const ls_tls_recipe& recipe, Address dtv, const MemorySource& memory) {
  const Address length_at =
      dtv + static_cast<std::uint64_t>(static_cast<std::int64_t>(recipe.length_offset));
  if (recipe.generation != 0 && recipe.length_offset == kGlibcLengthOffset) {
    auto words = read_value<std::array<std::uint64_t, 3>>(memory, length_at);
    if (!words) return std::move(words).error();
    return DtvHead{(*words)[0], (*words)[2]};
  }
  auto length = read_value<std::uint64_t>(memory, length_at);
  if (!length) return std::move(length).error();
  if (recipe.generation == 0) return DtvHead{*length, 0};
  auto generation = read_value<std::uint64_t>(memory, dtv);
  if (!generation) return std::move(generation).error();
  return DtvHead{*length, *generation};
}

Located in_dtv(const ls_tls_recipe& recipe, Address thread_pointer, const MemorySource& memory,
               LocateTrace* trace) {
  auto dtv = read_value<std::uint64_t>(
      memory,
      thread_pointer + static_cast<std::uint64_t>(static_cast<std::int64_t>(recipe.dtv_offset)));
  if (trace != nullptr && dtv) trace->dtv = *dtv;
  if (!dtv || *dtv == 0) return unreadable(LS_UNREADABLE_BAD_DTV);
  auto head = read_head(recipe, *dtv, memory);
  if (!head) return unreadable(LS_UNREADABLE_BAD_DTV);
  if (trace != nullptr) {
    trace->length = head->length;
    if (recipe.generation != 0) trace->generation = head->generation;
  }
  if (head->length < recipe.module_id || head->generation < recipe.generation) {
    return never_touched();
  }
  auto block = read_value<std::uint64_t>(
      memory, *dtv + static_cast<std::uint64_t>(recipe.module_id) * recipe.entry_size);
  if (trace != nullptr && block) trace->block = *block;
  if (!block) return unreadable(LS_UNREADABLE_BAD_DTV);
  if (!allocated(*block)) return never_touched();
  return {*block + static_cast<std::uint64_t>(recipe.offset), LS_UNLABELLED, 0};
}

}  // namespace

Located locate(const ls_tls_recipe& recipe, Address thread_pointer, const MemorySource& memory) {
  return locate(recipe, thread_pointer, memory, nullptr);
}

Located locate(const ls_tls_recipe& recipe, const ThreadState& thread, const MemorySource& memory) {
  if (recipe.kind == LS_FIRST_THREAD_AT_ADDRESS && thread.first) return at_address(recipe);
  if (recipe.kind != LS_IN_REGISTER) return locate(recipe, thread.thread_pointer, memory);
  constexpr std::size_t kX28 = 28;
  const Registers* registers = thread.registers;
  const bool known = registers != nullptr && registers->machine == Machine::kAarch64;
  const Address value = known ? registers->dwarf[kX28] : 0;
  if (value == 0) return unreadable(LS_UNREADABLE_NO_THREAD_POINTER);
  return {value, LS_UNLABELLED, 0};
}

Located locate(const ls_tls_recipe& recipe, Address thread_pointer, const MemorySource& memory,
               LocateTrace* trace) {
  if (recipe.kind == LS_RECIPE_NOT_RELOCATED) return unreadable(LS_UNREADABLE_NOT_RELOCATED);
  if (recipe.kind == LS_AT_ADDRESS) return at_address(recipe);
  if (recipe.kind == LS_FIRST_THREAD_AT_ADDRESS) return {std::nullopt, LS_UNLABELLED, 0};
  if (recipe.kind != LS_TP_OFFSET && recipe.kind != LS_DTV_SLOT)
    return unreadable(LS_UNREADABLE_NO_RECIPE);
  if (thread_pointer == 0) return unreadable(LS_UNREADABLE_NO_THREAD_POINTER);
  if (recipe.kind == LS_TP_OFFSET) {
    return {thread_pointer + static_cast<std::uint64_t>(recipe.offset), LS_UNLABELLED, 0};
  }
  return in_dtv(recipe, thread_pointer, memory, trace);
}

}  // namespace labelscope
