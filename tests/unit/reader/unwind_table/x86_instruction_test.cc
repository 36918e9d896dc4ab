// Compares sizes of instructions, and the registers that they write, with what Capstone says, over
// the code of libraries of this machine.
#include "unwind_table/x86_instruction.h"

#include <capstone/capstone.h>
#include <fcntl.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include "elf/elf_image.h"
#include "support/catch.h"
#include "unwind_table/call_frames.h"

using namespace labelscope;
using namespace std::string_literals;

namespace {

// Returns the number of a general register of 16 bits or more, as instructions encode it. Bytes are
// left out: ah is not rsp.
std::optional<unsigned> number_of(unsigned reg) {
  static const std::map<unsigned, unsigned> kNumbers = [] {
    const unsigned wide[][3] = {
        {X86_REG_RAX, X86_REG_EAX, X86_REG_AX},    {X86_REG_RCX, X86_REG_ECX, X86_REG_CX},
        {X86_REG_RDX, X86_REG_EDX, X86_REG_DX},    {X86_REG_RBX, X86_REG_EBX, X86_REG_BX},
        {X86_REG_RSP, X86_REG_ESP, X86_REG_SP},    {X86_REG_RBP, X86_REG_EBP, X86_REG_BP},
        {X86_REG_RSI, X86_REG_ESI, X86_REG_SI},    {X86_REG_RDI, X86_REG_EDI, X86_REG_DI},
        {X86_REG_R8, X86_REG_R8D, X86_REG_R8W},    {X86_REG_R9, X86_REG_R9D, X86_REG_R9W},
        {X86_REG_R10, X86_REG_R10D, X86_REG_R10W}, {X86_REG_R11, X86_REG_R11D, X86_REG_R11W},
        {X86_REG_R12, X86_REG_R12D, X86_REG_R12W}, {X86_REG_R13, X86_REG_R13D, X86_REG_R13W},
        {X86_REG_R14, X86_REG_R14D, X86_REG_R14W}, {X86_REG_R15, X86_REG_R15D, X86_REG_R15W}};
    std::map<unsigned, unsigned> numbers;
    for (unsigned i = 0; i < 16; ++i) {
      for (const unsigned each : wide[i]) numbers[each] = i;
    }
    return numbers;
  }();
  const auto found = kNumbers.find(reg);
  return found == kNumbers.end() ? std::nullopt : std::optional(found->second);
}

class Capstone {
 public:
  Capstone() {
    REQUIRE(cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) == CS_ERR_OK);
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    instruction_ = cs_malloc(handle_);
  }
  ~Capstone() {
    cs_free(instruction_, 1);
    cs_close(&handle_);
  }
  Capstone(const Capstone&) = delete;
  Capstone& operator=(const Capstone&) = delete;

  // Returns null if this is no instruction.
  const cs_insn* decode(std::string_view code) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(code.data());
    std::size_t size = code.size();
    std::uint64_t address = 0;
    return cs_disasm_iter(handle_, &bytes, &size, &address, instruction_) ? instruction_ : nullptr;
  }
  // Returns a bit for each general register that the instruction writes.
  unsigned written() {
    cs_regs read{};
    cs_regs write{};
    std::uint8_t reads = 0;
    std::uint8_t writes = 0;
    if (cs_regs_access(handle_, instruction_, read, &reads, write, &writes) != CS_ERR_OK) return 0;
    unsigned bits = 0;
    for (unsigned i = 0; i < writes; ++i) {
      if (const auto number = number_of(write[i])) bits |= 1U << *number;
    }
    return bits;
  }

 private:
  csh handle_{};
  cs_insn* instruction_ = nullptr;
};

unsigned written_by(const x86::Instruction& done) {
  unsigned bits = done.also_written;
  if (done.written != x86::kNoRegister) bits |= 1U << done.written;
  if (done.effect == x86::Effect::kLeave) bits |= 1U << x86::kBp;
  return bits;
}

// Capstone 4 takes rax for written by these, which only read it.
bool is_mistaken(const std::string& name) {
  return name == "cdq" || name == "cqo" || name == "test";
}

// What happens to rsp is not `written`, but an effect; and calls may write anything.
constexpr unsigned kLookedAt = 0xffff & ~(1U << x86::kSp);

struct Compared {
  std::size_t instructions = 0;
  std::map<std::string, std::string> differences;  // by the name of the instruction
};

void compare(std::string_view code, Capstone& capstone, Compared& compared) {
  for (std::size_t at = 0; at < code.size();) {
    const cs_insn* theirs = capstone.decode(code.substr(at));
    if (theirs == nullptr) return;  // some instructions of new processors are not known to it
    const x86::Instruction ours = x86::decode(code.substr(at));
    ++compared.instructions;
    const std::string text = theirs->mnemonic + " "s + theirs->op_str;
    if (ours.size != theirs->size) {
      compared.differences[theirs->mnemonic] = text + ": size " + std::to_string(ours.size);
      return;
    }
    const bool calls = ours.flow == x86::Flow::kCall || ours.flow == x86::Flow::kIndirectCall;
    const unsigned missing = capstone.written() & kLookedAt & ~written_by(ours);
    if (!calls && missing != 0 && !is_mistaken(theirs->mnemonic)) {
      char number[16];
      std::snprintf(number, sizeof number, "%x", missing);
      compared.differences[theirs->mnemonic] = text + ": not reported: " + number;
    }
    at += theirs->size;
  }
}

}  // namespace

TEST_CASE("x86 instruction: sizes and written registers are those that Capstone says") {
  Capstone capstone;
  Compared compared;
  for (const char* name : {"libc.so.6", "libcrypto.so.3", "libm.so.6", "libstdc++.so.6"}) {
    const std::string path = "/usr/lib/x86_64-linux-gnu/"s + name;
    const auto open_file = [&] { return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); };
    if (!open_file().valid()) continue;
    auto file = ElfImage::open(open_file());
    auto image = CallFrameImage::from_file(open_file());
    REQUIRE(file);
    REQUIRE(image);
    auto frames = CallFrames::open(*std::move(image));
    REQUIRE(frames);
    for (const DescribedFunction& function : frames->functions()) {
      std::string bytes(function.end - function.start, '\0');
      REQUIRE(file->read(function.start, std::as_writable_bytes(std::span(bytes))));
      compare(bytes, capstone, compared);
    }
  }
  if (compared.instructions == 0) skip_test("the libraries of x86-64 are not on this machine");
  for (const auto& [name, text] : compared.differences) UNSCOPED_INFO(text);
  CHECK(compared.differences.empty());
  CHECK(compared.instructions > 1'000'000);
}

TEST_CASE("x86 instruction: registers that are written beside the named one") {
  const auto written = [](const std::string& code) { return written_by(x86::decode(code)); };
  CHECK(written("\x48\xf7\xe1"s) == 0b101);           // mul %rcx
  CHECK(written("\x48\x93"s) == 0b1001);              // xchg %rax, %rbx
  CHECK(written("\x49\x95"s) == (1U | 1U << 13));     // xchg %rax, %r13
  CHECK(written("\x90"s) == 0);                       // nop
  CHECK(written("\xf0\x48\x0f\xb1\x0a"s) == 1);       // lock cmpxchg %rcx, (%rdx)
  CHECK(written("\xf3\x48\xa5"s) == 0b11000010);      // rep movsq
  CHECK(written("\x48\xab"s) == 0b10000000);          // stosq
  CHECK(written("\x48\x05\x10\0\0\0"s) == 1);         // add $16, %rax
  CHECK(written("\x48\x3d\x10\0\0\0"s) == 0);         // cmp $16, %rax
  CHECK(written("\x48\x99"s) == 0b100);               // cqo
  CHECK(written("\x0f\xa2"s) == 0b1111);              // cpuid
  CHECK(written("\x0f\x05"s) == (0b11U | 1U << 11));  // syscall
  CHECK(written("\xc4\xe2\xf3\xf6\xc2"s) == 0b11);    // mulx %rdx, %rcx, %rax
}
