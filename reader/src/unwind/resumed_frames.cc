// Layouts of the kernel's ABI: arch/x86/include/uapi/asm/sigcontext.h and asm-generic/ucontext.h,
// arch/arm64/include/uapi/asm/{sigcontext,ucontext}.h.
#include "unwind/resumed_frames.h"

#include <algorithm>
#include <array>

namespace labelscope {
namespace {

// mov $15, %rax; syscall
constexpr std::array<unsigned char, 9> kX86Return{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
// mov x8, #139; svc #0
constexpr std::array<unsigned char, 8> kArmReturn{0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};

// Offsets from the stack pointer.
constexpr Address kX86Registers = 40;         // ucontext_t: flags, link, stack; then the registers
constexpr Address kArmRegisters = 128 + 184;  // siginfo_t; then up to uc_mcontext.regs

// In the order of struct sigcontext, as DWARF numbers: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax,
// rcx, rsp, rip.
constexpr std::array<unsigned char, 17> kX86Order{8, 9, 10, 11, 12, 13, 14, 15, 5,
                                                  4, 6, 3,  1,  0,  2,  7,  16};

template <std::size_t kSize>
bool has_code(const std::array<unsigned char, kSize>& wanted, Address pc, CachedMemory& memory) {
  std::array<unsigned char, kSize> found{};
  return memory.read(pc, std::as_writable_bytes(std::span(found))) && found == wanted;
}

}  // namespace

bool is_signal_return(Machine machine, Address pc, CachedMemory& memory) {
  return machine == Machine::kX86_64 ? has_code(kX86Return, pc, memory)
                                     : has_code(kArmReturn, pc, memory);
}

std::optional<Registers> interrupted_registers(Machine machine, Address stack_pointer,
                                               CachedMemory& memory) {
  Registers registers;
  registers.machine = machine;
  if (machine == Machine::kX86_64) {
    std::array<std::uint64_t, kX86Order.size()> saved{};
    if (!memory.read(stack_pointer + kX86Registers, std::as_writable_bytes(std::span(saved)))) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < saved.size(); ++i) registers.dwarf[kX86Order[i]] = saved[i];
    registers.pc = saved.back();
    return registers;
  }
  std::array<std::uint64_t, 33> saved{};  // x0 to x30, sp, pc
  if (!memory.read(stack_pointer + kArmRegisters, std::as_writable_bytes(std::span(saved)))) {
    return std::nullopt;
  }
  std::copy(saved.begin(), saved.end() - 1, registers.dwarf.begin());
  registers.pc = saved.back();
  return registers;
}

std::optional<Registers> registers_before_call(const Registers& called, CachedMemory& memory) {
  Registers registers = called;
  std::uint64_t return_address = 0;
  if (called.machine == Machine::kX86_64) {
    std::uint64_t& stack_pointer = registers.dwarf[stack_pointer_number(called.machine)];
    if (!memory.read(stack_pointer, std::as_writable_bytes(std::span(&return_address, 1)))) {
      return std::nullopt;
    }
    stack_pointer += sizeof return_address;
  } else {
    return_address = called.dwarf[return_address_number(called.machine)];
  }
  registers.pc = return_address - 1;
  return registers;
}

}  // namespace labelscope
