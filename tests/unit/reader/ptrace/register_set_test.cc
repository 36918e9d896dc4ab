// Tests register sets as the kernel lays them out, put into DWARF order, and those of a real
// thread.
#include "ptrace/register_set.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "labelscope/stopped_thread.h"
#include "support/catch.h"

namespace labelscope::test {
namespace {

// Returns words that count up from 1000.
std::vector<std::byte> numbered_words(std::size_t count) {
  std::vector<std::byte> bytes(count * sizeof(std::uint64_t));
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t value = 1000 + i;
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return bytes;
}

// Writes a byte when it is ready, fills each register that it can spare with a word that is no
// address, and loops.
[[noreturn]] void spin_with_known_registers(int ready_fd) {
  [[maybe_unused]] auto written = ::write(ready_fd, "x", 1);
#if defined(__x86_64__)
  asm volatile(
      "mov $0x101, %rax\n mov $0x102, %rdx\n mov $0x103, %rcx\n mov $0x104, %rbx\n"
      "mov $0x105, %rsi\n mov $0x106, %rdi\n mov $0x107, %rbp\n"
      "mov $0x109, %r8\n mov $0x10a, %r9\n mov $0x10b, %r10\n mov $0x10c, %r11\n"
      "mov $0x10d, %r12\n mov $0x10e, %r13\n mov $0x10f, %r14\n mov $0x110, %r15\n"
      ".globl known_registers_loop\n"
      "known_registers_loop: jmp known_registers_loop\n");
#elif defined(__aarch64__)
  asm volatile(
      "mov x0, #0x101\n mov x1, #0x102\n mov x19, #0x114\n mov x28, #0x11d\n mov x29, #0x11e\n"
      "mov x30, #0x11f\n"
      ".globl known_registers_loop\n"
      "known_registers_loop: b known_registers_loop\n");
#endif
  __builtin_unreachable();
}

}  // namespace

extern "C" char known_registers_loop;

TEST_CASE("register_set: the words of x86-64 in the order of DWARF") {
  auto set = decode_register_set(Machine::kX86_64, numbered_words(27));
  REQUIRE(set);
  CHECK(set->registers.machine == Machine::kX86_64);
  // The order of struct user_regs_struct is r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi
  // rdi orig_rax rip cs eflags rsp ss fs_base.
  const std::array<std::uint64_t, 17> expected{1010, 1012, 1011, 1005, 1013, 1014, 1004, 1019, 1009,
                                               1008, 1007, 1006, 1003, 1002, 1001, 1000, 1016};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("DWARF register " << i);
    CHECK(set->registers.dwarf[i] == expected[i]);
  }
  CHECK(set->registers.pc == 1016);
  REQUIRE(set->thread_pointer);
  CHECK(*set->thread_pointer == 1021);
}

TEST_CASE("register_set: the words of aarch64 in the order of DWARF") {
  auto set = decode_register_set(Machine::kAarch64, numbered_words(34));
  REQUIRE(set);
  CHECK(set->registers.machine == Machine::kAarch64);
  for (std::size_t i = 0; i < 32; ++i) CHECK(set->registers.dwarf[i] == 1000 + i);
  CHECK(set->registers.pc == 1032);
  CHECK_FALSE(set->thread_pointer);
}

TEST_CASE("register_set: on x86-64 the call and its result show whether a thread waited") {
  constexpr std::int64_t kNanosleep = 35;
  constexpr std::int64_t kRead = 0;
  CHECK(x86_64_waited(kNanosleep, 0));
  CHECK(x86_64_waited(kRead, -512));
  CHECK_FALSE(x86_64_waited(kRead, 100));
  CHECK_FALSE(x86_64_waited(kRead, -4));
  CHECK_FALSE(x86_64_waited(-1, -512));
}

TEST_CASE("register_set: on aarch64 the code around the pc shows whether a thread waited") {
  constexpr std::uint32_t kSvc = 0xd4000001;
  constexpr std::uint32_t kNop = 0xd503201f;
  constexpr std::uint64_t kNanosleep = 101;
  constexpr std::uint64_t kRead = 63;
  CHECK(aarch64_waited(kNanosleep, kNop, kSvc));  // the call is to be made again
  CHECK(aarch64_waited(kRead, kNop, kSvc));
  CHECK(aarch64_waited(kNanosleep, kSvc, kNop));  // the call has returned
  CHECK_FALSE(aarch64_waited(kRead, kSvc, kNop));
  CHECK_FALSE(aarch64_waited(kNanosleep, kNop, kNop));
}

TEST_CASE("register_set: one that is cut short is refused") {
  for (Machine machine : {Machine::kX86_64, Machine::kAarch64}) {
    std::vector<std::byte> bytes(register_set_size(machine) - 1);
    auto set = decode_register_set(machine, bytes);
    REQUIRE_FALSE(set);
    CHECK(set.error().code == ErrorCode::kMalformed);
  }
}

TEST_CASE("register_set: that of a 32-bit program is called so") {
  // struct user_regs_struct has 17 words of 4 bytes on i386, and 18 on ARM.
  const std::vector<std::byte> bytes(std::size_t{18} * 4);
  for (Machine machine : {Machine::kX86_64, Machine::kAarch64}) {
    const std::size_t size = machine == Machine::kX86_64 ? 17 * 4 : 18 * 4;
    auto set = decode_register_set(machine, std::span(bytes).first(size));
    REQUIRE_FALSE(set);
    CHECK(set.error().code == ErrorCode::kUnsupported);
    CHECK(set.error().context.find("32-bit") != std::string::npos);
  }
}

TEST_CASE("register_set: those of a stopped thread are what it holds") {
  skip_in_user_mode_emulation();
  std::array<int, 2> ready{};
  REQUIRE(::pipe(ready.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) spin_with_known_registers(ready[1]);
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  const auto loop = reinterpret_cast<Address>(&known_registers_loop);
  // The child may still be returning from the system call.
  Registers seen;
  for (int tries = 0; tries < 10'000 && seen.pc != loop; ++tries) {
    auto stopped = StoppedThread::stop(Tid{child});
    REQUIRE(stopped);
    auto registers = stopped->registers();
    REQUIRE(registers);
    seen = *registers;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  REQUIRE(seen.pc == loop);
#if defined(__x86_64__)
  for (std::size_t i = 0; i < 16; ++i) {
    INFO("DWARF register " << i);
    if (i != 7) CHECK(seen.dwarf[i] == 0x101 + i);
  }
  CHECK(seen.dwarf[16] == loop);
#elif defined(__aarch64__)
  for (std::size_t i : {0, 1, 19, 28, 29, 30}) CHECK(seen.dwarf[i] == 0x101 + i);
#endif
}

}  // namespace labelscope::test
