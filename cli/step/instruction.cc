#include "cli/step/instruction.h"

#include <capstone/capstone.h>

#include <cstring>

#if defined(__aarch64__)
#include "cli/step/aarch64_code.h"
#endif

namespace labelscope::cli {
namespace {

#if defined(__aarch64__)
constexpr std::size_t kSmallestSize = 4;
#else
constexpr std::size_t kSmallestSize = 1;
#endif

}  // namespace

Disassembler::Disassembler() {
#if defined(__aarch64__)
  const cs_err failed = cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &handle_);
#else
  const cs_err failed = cs_open(CS_ARCH_X86, CS_MODE_64, &handle_);
#endif
  if (failed != CS_ERR_OK) return;
  cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
  instruction_ = cs_malloc(handle_);
}

Disassembler::~Disassembler() {
  if (instruction_ != nullptr) cs_free(instruction_, 1);
  if (handle_ != 0) cs_close(&handle_);
}

const cs_insn* Disassembler::disassemble(Address address, std::span<const std::byte> code) const {
  if (instruction_ == nullptr) return nullptr;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(code.data());
  std::size_t size = code.size();
  std::uint64_t at = address;
  return cs_disasm_iter(handle_, &bytes, &size, &at, instruction_) ? instruction_ : nullptr;
}

std::string Disassembler::text(Address address, std::span<const std::byte> code) const {
  const cs_insn* instruction = disassemble(address, code);
  if (instruction == nullptr) return {};
  std::string text = instruction->mnemonic;
  if (instruction->op_str[0] != '\0') text.append(" ").append(instruction->op_str);
  return text;
}

#if defined(__x86_64__)

namespace {

// A call through a slot of the file's own does not count (call [rip + n]): with -fno-plt every call
// of another file's function is one.
bool calls_through_register(const cs_insn& instruction) {
  const cs_x86& x86 = instruction.detail->x86;
  if (x86.op_count != 1) return false;
  const cs_x86_op& target = x86.operands[0];
  if (target.type == X86_OP_REG) return true;
  return target.type == X86_OP_MEM && target.mem.base != X86_REG_RIP &&
         target.mem.base != X86_REG_INVALID;
}

}  // namespace

Instruction Disassembler::decode(Address address, std::span<const std::byte> code) const {
  const cs_insn* instruction = disassemble(address, code);
  if (instruction == nullptr) return {kSmallestSize};
  const auto is_in = [&](unsigned group) { return cs_insn_group(handle_, instruction, group); };
  Instruction decoded{instruction->size};
  if (is_in(CS_GRP_CALL)) {
    decoded.flow = Flow::kCall;
    decoded.through_register = calls_through_register(*instruction);
  } else if (is_in(CS_GRP_RET)) {
    decoded.flow = Flow::kReturn;
  } else if (is_in(CS_GRP_JUMP)) {
    decoded.flow = Flow::kJump;
  } else if (instruction->id == X86_INS_SYSCALL) {
    decoded.flow = Flow::kSystemCall;
  } else if (is_in(CS_GRP_INT)) {
    decoded.flow = Flow::kTrap;
  }
  return decoded;
}

std::vector<Address> exits_of_exclusive_sequence(Address, std::span<const std::byte>) { return {}; }

#elif defined(__aarch64__)

Instruction Disassembler::decode(Address, std::span<const std::byte> code) const {
  if (code.size() < aarch64::kInstructionSize) return {kSmallestSize};
  std::uint32_t word = 0;
  std::memcpy(&word, code.data(), sizeof word);
  const Flow flow = aarch64::flow_of(word);
  // Of all calls, only bl holds its distance.
  constexpr std::uint32_t kBl = 0x9400'0000;
  return {aarch64::kInstructionSize, flow, flow == Flow::kCall && (word & 0xFC00'0000) != kBl};
}

std::vector<Address> exits_of_exclusive_sequence(Address address, std::span<const std::byte> code) {
  return aarch64::exits_of_exclusive_sequence(address, code);
}

#endif

}  // namespace labelscope::cli
