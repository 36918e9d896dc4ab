// Call frame information of a hostile module: the part that is taken is small and in order, and
// libdw can read it.
//
//   input = ELF magic ...   a file, of which a table is made (build_unwind_table.h)
//         | kind, bytes     see Kind
#include <elf.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "elf/hostile_sections.h"
#include "fuzz/fuzzed_file.h"
#include "fuzz/fuzzed_memory.h"
#include "fuzz/fuzzer_check.h"
#include "unwind/walk.h"
#include "unwind_table/build_unwind_table.h"
#include "unwind_table/call_frame_check.h"
#include "unwind_table/copied_module.h"
#include "unwind_table/frame_instructions.h"

namespace {

using namespace labelscope;

enum Kind { kEhFrame, kDebugFrame, kSearchTable, kPackedSection, kMemory, kStack, kKinds };

using Bytes = std::vector<std::byte>;

// Makes a table, which may say anything but must be in order.
UnwindTable build(UniqueFd file) {
  UnwindTableLimits limits;
  limits.rows = 1 << 16;
  limits.text_bytes = 64 << 20;
  limits.time = std::chrono::milliseconds(2000);
  auto table = build_unwind_table(std::move(file), limits);
  if (!table) {
    fuzzer_check(!table.error().context.empty(), "an error says what it is");
    return {};
  }
  fuzzer_check(table->rows.size() <= limits.rows + table->pages.size(), "rows are bounded");
  for (const ls_unwind_rows& page : table->pages) {
    fuzzer_check(page.count != 0 && page.count <= LS_UNWIND_BLOCK_ROWS, "a page has rows");
    fuzzer_check(page.first + page.count <= table->rows.size(), "a page's rows are there");
  }
  for (const std::uint32_t row : table->rows) {
    fuzzer_check(LS_UNWIND_ROW_RULE(row) < table->rules.size(), "a row's rule is there");
  }
  return *std::move(table);
}

void take(const Bytes& section, CallFrameKind kind) {
  const CallFrameEntries taken = take_call_frames(section, kind);
  fuzzer_check(taken.size <= section.size(), "no more is taken than there is");
  for (std::size_t i = 0; i < taken.functions.size(); ++i) {
    fuzzer_check(taken.functions[i] < taken.size, "an entry lies in what was taken");
    fuzzer_check(i == 0 || taken.functions[i - 1] < taken.functions[i], "entries ascend");
  }
  Bytes entries(section.begin(), section.begin() + static_cast<std::ptrdiff_t>(taken.size));
  limit_instructions(entries, kind, Machine::kAarch64);
  const CallFrameEntries again = take_call_frames(entries, kind);
  fuzzer_check(again.functions == taken.functions, "hiding signatures changes no entry's place");
}

// The first two bytes of the input are the size of the table.
void check_table(const Bytes& bytes) {
  if (bytes.size() < 2) return;
  const std::size_t wanted = static_cast<std::size_t>(bytes[0]) | static_cast<std::size_t>(bytes[1])
                                                                      << 8;
  const std::span<const std::byte> all(bytes);
  const std::size_t size = std::min(wanted, bytes.size() - 2);
  const auto header = all.subspan(2, size);
  const auto section = all.subspan(2 + size);
  const CallFrameEntries entries = take_call_frames(section, CallFrameKind::kEhFrame);
  const Status checked = check_search_table(header, 0x1000, entries, 0x1000 + size);
  fuzzer_check(checked || !checked.error().context.empty(), "an error says what it is");
  if (checked && has_search_table(header)) {
    fuzzer_check(header.size() >= 4, "a table has a header");
  }
}

// Walks over a hostile stack, with every kind of rule in turn.
void walk(const std::uint8_t* data, std::size_t size) {
  const FuzzedMemory memory(data, size);
  const std::uint32_t row = 0;
  const ls_unwind_rows page{0, 1};
  const ls_unwind_mapping mapping{0x1000, 0x9000, 0x1000, 0, 0};
  for (unsigned kind = 0; kind < LS_CFA_KIND_COUNT; ++kind) {
    ls_unwind_rule rule{};
    rule.cfa = static_cast<__u8>(kind);
    rule.ra = LS_RA_AT_CFA;
    rule.fp = static_cast<__u8>(kind % 4);
    rule.cfa_offset = 16;
    rule.fp_offset = -16;
    rule.ra_offset = -8;
    const ls_walk_table table{&page, &row, &rule, 1, 1};
    for (const auto by : {&ls_walk_x86_64, &ls_walk_aarch64}) {
      ls_stack_walk stack{};
      stack.mappings = &mapping;
      stack.tables = &table;
      stack.mapping_count = stack.table_count = 1;
      stack.code_mask = 0xffff;
      stack.pc = 0x2000;
      for (auto& value : stack.registers) value = 0x400;
      stack.self = const_cast<FuzzedMemory*>(&memory);
      stack.late = [](void*) { return 0; };
      stack.read = [](void* self, void* out, __u32 bytes, __u64 address) {
        const auto& source = *static_cast<const FuzzedMemory*>(self);
        return source.read(address, {static_cast<std::byte*>(out), bytes}) ? 1 : 0;
      };
      by(&stack);
      fuzzer_check(stack.count >= 1 && stack.count <= LS_WALK_MAX_FRAMES, "frames are bounded");
      fuzzer_check(stack.end > LS_STACK_NOT_WANTED && stack.end < LS_STACK_END_COUNT,
                   "a stack has an end");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size >= SELFMAG && std::memcmp(data, ELFMAG, SELFMAG) == 0) {
    const FuzzedFile file(data, size);
    static_cast<void>(build(file.open()));
    return 0;
  }
  if (size < 1) return 0;
  const auto* first = reinterpret_cast<const std::byte*>(data + 1);
  const Bytes bytes(first, first + size - 1);
  constexpr std::uint64_t kMostUnpacked = 1 << 20;
  switch (data[0] % kKinds) {
    case kEhFrame:
      take(bytes, CallFrameKind::kEhFrame);
      break;
    case kDebugFrame:
      take(bytes, CallFrameKind::kDebugFrame);
      break;
    case kSearchTable:
      check_table(bytes);
      break;
    case kPackedSection:
      if (const auto unpacked = unpack_section(bytes, kMostUnpacked)) {
        fuzzer_check(unpacked->size() <= kMostUnpacked, "what is unpacked is bounded");
      }
      break;
    case kMemory: {
      const FuzzedMemory memory(data + 1, size - 1);
      if (auto file = copy_module(memory, 0x400, "made up"))
        static_cast<void>(build(*std::move(file)));
      break;
    }
    default:
      walk(data + 1, size - 1);
  }
  return 0;
}
