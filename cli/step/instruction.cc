#include "cli/step/instruction.h"

#include <capstone/capstone.h>

#include <cstring>

namespace labelscope::cli {
namespace {

#if defined(__aarch64__)
constexpr std::size_t kSmallestSize = 4;
#else
constexpr std::size_t kSmallestSize = 1;
#endif

}  // namespace

class Disassembler::Capstone {
 public:
  Capstone() {
#if defined(__aarch64__)
    const cs_err failed = cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &handle_);
#else
    const cs_err failed = cs_open(CS_ARCH_X86, CS_MODE_64, &handle_);
#endif
    if (failed != CS_ERR_OK) return;
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    instruction_ = cs_malloc(handle_);
  }
  ~Capstone() {
    if (instruction_ != nullptr) cs_free(instruction_, 1);
    if (handle_ != 0) cs_close(&handle_);
  }
  Capstone(const Capstone&) = delete;
  Capstone& operator=(const Capstone&) = delete;

  // Null if the bytes are no instruction. Valid until the next call.
  const cs_insn* disassemble(Address address, std::span<const std::byte> code) const {
    if (instruction_ == nullptr) return nullptr;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(code.data());
    std::size_t size = code.size();
    std::uint64_t at = address;
    return cs_disasm_iter(handle_, &bytes, &size, &at, instruction_) ? instruction_ : nullptr;
  }
  bool is_in(const cs_insn& instruction, unsigned group) const {
    return cs_insn_group(handle_, &instruction, group);
  }

 private:
  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

Disassembler::Disassembler() : capstone_(std::make_unique<Capstone>()) {}
Disassembler::~Disassembler() = default;

std::string Disassembler::text(Address address, std::span<const std::byte> code) const {
  const cs_insn* instruction = capstone_->disassemble(address, code);
  if (instruction == nullptr) return {};
  std::string text = instruction->mnemonic;
  if (instruction->op_str[0] != '\0') text.append(" ").append(instruction->op_str);
  return text;
}

#if defined(__x86_64__)

Instruction Disassembler::decode(Address address, std::span<const std::byte> code) const {
  const cs_insn* instruction = capstone_->disassemble(address, code);
  if (instruction == nullptr) return {kSmallestSize};
  Instruction decoded{instruction->size};
  if (capstone_->is_in(*instruction, CS_GRP_CALL)) {
    decoded.flow = Flow::kCall;
  } else if (capstone_->is_in(*instruction, CS_GRP_RET)) {
    decoded.flow = Flow::kReturn;
  } else if (capstone_->is_in(*instruction, CS_GRP_JUMP)) {
    decoded.flow = Flow::kJump;
  } else if (instruction->id == X86_INS_SYSCALL) {
    decoded.flow = Flow::kSystemCall;
  } else if (capstone_->is_in(*instruction, CS_GRP_INT)) {
    decoded.flow = Flow::kTrap;
  }
  return decoded;
}

std::vector<Address> exits_of_exclusive_sequence(Address, std::span<const std::byte>) { return {}; }

#elif defined(__aarch64__)

namespace {

constexpr std::size_t kWord = 4;

std::uint32_t word_at(std::span<const std::byte> code, std::size_t index) {
  std::uint32_t word = 0;
  std::memcpy(&word, code.data() + index * kWord, kWord);
  return word;
}

// "Load/store exclusive" (Arm ARM C4.1.94): bits 29 to 24 are 001000, bit 23 clear; bit 22 tells
// the direction. With bit 21 set and bit 31 clear it is a compare-and-swap of a pair.
bool is_exclusive(std::uint32_t word) {
  return (word & 0x3F80'0000) == 0x0800'0000 && (word & 0x8020'0000) != 0x0020'0000;
}
bool is_exclusive_load(std::uint32_t word) { return is_exclusive(word) && (word & 1U << 22) != 0; }

bool is_conditional(std::uint32_t word) {
  const bool b_cond = (word & 0xFF00'0010) == 0x5400'0000;
  const bool compare = (word & 0x7E00'0000) == 0x3400'0000;  // cbz, cbnz
  return b_cond || compare;
}

// Both have a signed number of words in bits 23 to 5.
std::int64_t branch_distance(std::uint32_t word) {
  const auto field = static_cast<std::int32_t>(word << 8) >> 13;
  return std::int64_t{field} * 4;
}

}  // namespace

Instruction Disassembler::decode(Address, std::span<const std::byte> code) const {
  if (code.size() < kWord) return {kSmallestSize};
  const std::uint32_t word = word_at(code, 0);
  Instruction decoded{kWord};
  if ((word & 0xFC00'0000) == 0x9400'0000 || (word & 0xFFFF'FC1F) == 0xD63F'0000) {
    decoded.flow = Flow::kCall;  // bl, blr
  } else if ((word & 0xFFFF'FC1F) == 0xD65F'0000) {
    decoded.flow = Flow::kReturn;
  } else if ((word & 0xFC00'0000) == 0x1400'0000 || (word & 0xFFFF'FC1F) == 0xD61F'0000 ||
             is_conditional(word) || (word & 0x7E00'0000) == 0x3600'0000) {
    decoded.flow = Flow::kJump;  // b, br, b.cond, cbz, cbnz, tbz, tbnz
  } else if ((word & 0xFFE0'001F) == 0xD400'0001) {
    decoded.flow = Flow::kSystemCall;
  } else if ((word & 0xFFE0'001F) == 0xD420'0000) {
    decoded.flow = Flow::kTrap;  // brk
  }
  return decoded;
}

std::vector<Address> exits_of_exclusive_sequence(Address address, std::span<const std::byte> code) {
  if (code.size() < kWord || !is_exclusive_load(word_at(code, 0))) return {};
  std::vector<Address> exits;
  for (std::size_t i = 1; i < code.size() / kWord; ++i) {
    const std::uint32_t word = word_at(code, i);
    if (is_conditional(word)) exits.push_back(address + i * kWord + branch_distance(word));
    if (is_exclusive(word) && !is_exclusive_load(word)) {
      exits.push_back(address + (i + 1) * kWord);
      return exits;
    }
  }
  return {};
}

#endif

}  // namespace labelscope::cli
