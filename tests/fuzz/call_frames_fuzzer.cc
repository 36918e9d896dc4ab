// Call frame information of a hostile module: what is taken of it is small and in order, and libdw
// gets along with it.
//
//   input = ELF magic ...   a file, of which an image is made (call_frame_image.h)
//         | kind, bytes     see Kind
#include <elfutils/libdw.h>
#include <libelf.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "elf/packed_section.h"
#include "fuzz/fuzzed_file.h"
#include "fuzz/fuzzed_memory.h"
#include "fuzz/fuzzer_check.h"
#include "process/cached_memory.h"
#include "unwind_table/call_frame_check.h"
#include "unwind_table/call_frame_image.h"
#include "unwind/resumed_frames.h"
#include "unwind_table/frame_instructions.h"

namespace {

using namespace labelscope;

enum Kind { kEhFrame, kDebugFrame, kSearchTable, kPackedSection, kMemory, kStack, kKinds };

using Bytes = std::vector<std::byte>;

// What libdwfl does with an image while a thread is held, for a few addresses.
void unwind_by(CallFrameImage& image) {
  static const unsigned kVersion = ::elf_version(EV_CURRENT);
  fuzzer_check(kVersion != EV_NONE, "libelf works");
  Elf* elf = ::elf_memory(reinterpret_cast<char*>(image.bytes().data()), image.bytes().size());
  fuzzer_check(elf != nullptr, "an image is an ELF file");
  if (Dwarf_CFI* frames = ::dwarf_getcfi_elf(elf); frames != nullptr) {
    for (Dwarf_Addr at = 0; at < 0x4000; at += 0x155) {
      Dwarf_Frame* frame = nullptr;
      if (::dwarf_cfi_addrframe(frames, image.first_page() + at, &frame) != 0) continue;
      Dwarf_Op* operations = nullptr;
      std::size_t count = 0;
      ::dwarf_frame_cfa(frame, &operations, &count);
      for (int number = 0; number < 33; ++number) {
        Dwarf_Op storage[3];
        ::dwarf_frame_register(frame, number, storage, &operations, &count);
      }
      std::free(frame);
    }
    ::dwarf_cfi_end(frames);
  }
  ::elf_end(elf);
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

// The first two bytes are the size of the table.
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

void resume(const std::uint8_t* data, std::size_t size) {
  const FuzzedMemory source(data, size);
  CachedMemory memory;
  memory.start(source);
  for (const Machine machine : {Machine::kX86_64, Machine::kAarch64}) {
    for (Address at = 0; at < 0x4000; at += 0x3f8) {
      static_cast<void>(is_signal_return(machine, at, memory));
      if (const auto registers = interrupted_registers(machine, at, memory)) {
        static_cast<void>(registers_before_call(*registers, memory));
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size >= SELFMAG && std::memcmp(data, ELFMAG, SELFMAG) == 0) {
    const FuzzedFile file(data, size);
    if (auto image = CallFrameImage::from_file(file.open())) unwind_by(**image);
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
      if (auto image = CallFrameImage::from_memory(memory, 0x400)) unwind_by(**image);
      break;
    }
    default:
      resume(data + 1, size - 1);
  }
  return 0;
}
