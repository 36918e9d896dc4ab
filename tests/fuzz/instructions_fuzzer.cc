// Fuzzes the stepper's decoder, over bytes that a program executes, or has where code should be.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "cli/step/aarch64_code.h"
#include "cli/step/instruction.h"
#include "fuzz/fuzzer_check.h"

namespace {

using namespace labelscope;
using namespace labelscope::cli;

constexpr Address kStart = 0x401000;
constexpr std::size_t kMostDecoded = 256;

void decode_here(std::span<const std::byte> code) {
  static const Disassembler kDisassembler;
  for (std::size_t at = 0; at < std::min(code.size(), kMostDecoded);) {
    const auto rest = code.subspan(at);
    const Instruction found = kDisassembler.decode(kStart + at, rest);
    fuzzer_check(found.size > 0 && found.size <= kMaxInstructionSize, "an instruction has a size");
    static_cast<void>(kDisassembler.text(kStart + at, rest));
    static_cast<void>(exits_of_exclusive_sequence(kStart + at, rest));
    at += found.size;
  }
}

void decode_aarch64(std::span<const std::byte> code) {
  std::vector<std::uint32_t> words(std::min(code.size() / 4, kMostDecoded));
  std::memcpy(words.data(), code.data(), words.size() * 4);
  const VariableReferences wanted{{16, -8}, {kStart + 0x2000}};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Address address = kStart + 4 * i;
    static_cast<void>(aarch64::flow_of(words[i]));
    static_cast<void>(aarch64::is_breakpoint(words[i]));
    const auto rest = std::span(words).subspan(i);
    if (aarch64::begins_reference(address, rest, wanted)) {
      fuzzer_check(aarch64::may_begin_reference(words[i]), "what begins one may begin one");
    }
    const auto bytes = std::as_bytes(rest);
    for (const Address exit : aarch64::exits_of_exclusive_sequence(address, bytes)) {
      fuzzer_check(exit % 4 == 0, "an exit is an instruction");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span code(reinterpret_cast<const std::byte*>(data), size);
  decode_here(code);
  decode_aarch64(code);
  return 0;
}
