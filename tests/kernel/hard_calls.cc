// Compiled like call_chain.cc. Assembly code stands for what no compiler makes.
#include "kernel/hard_calls.h"

#include <alloca.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstring>
#include <ctime>

// A function in a section of its own, which ends with code that is described, so that two gaps do
// not become one.
#define BEGIN(letter)                                                       \
  ".pushsection chain_" #letter ", \"ax\", @progbits\n.globl leaf_" #letter \
  "\n.type leaf_" #letter ", %function\n.p2align 4\nleaf_" #letter ":\n"
#define END ".p2align 4\n.cfi_startproc\nnop\n.cfi_endproc\n.popsection\n"
#if defined(__x86_64__)
#define RETURN "ret\n"
#define SPIN "mov $20000, %ecx\n1: dec %ecx\njnz 1b\n"
#define MANY ".rept 80\nnop\ninc %eax\n.endr\n"
#define FAULT "ud2\n"
#else
#define RETURN "ret\n"
#define SPIN "mov w11, #20000\n1: subs w11, w11, #1\nb.ne 1b\n"
#define MANY ".rept 80\nadd w12, w12, #1\n.endr\n"
#define FAULT ".inst 0\n"
#endif

extern "C" {
void leaf_h();
void leaf_i();
void leaf_j();
void leaf_m();
void leaf_n();
void leaf_o();
void leaf_q();
void leaf_s();
void leaf_w();
void leaf_t();
#if defined(__x86_64__)
void leaf_u();
#endif
}

// The return address is in a register.
#if defined(__x86_64__)
asm(BEGIN(h) ".cfi_startproc\npop %rdx\n.cfi_adjust_cfa_offset -8\n.cfi_register %rip, %rdx\n" SPIN
             "push %rdx\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rip, -8\nret\n.cfi_endproc\n" END);
// The frame is large.
asm(BEGIN(w) ".cfi_startproc\nsub $0x20000, %rsp\n.cfi_adjust_cfa_offset 0x20000\n" SPIN
             "add $0x20000, %rsp\n.cfi_adjust_cfa_offset -0x20000\nret\n.cfi_endproc\n" END);
// The CFA is far below the register that it is based on.
asm(BEGIN(q) ".cfi_startproc\nlea 0x30008(%rsp), %r11\n.cfi_def_cfa %r11, -0x30000\n" SPIN
             ".cfi_def_cfa %rsp, 8\nret\n.cfi_endproc\n" END);
// An expression that no unwinder supports describes it: rsp * 2.
asm(BEGIN(o) ".cfi_startproc\n.cfi_escape 0x0f, 4, 0x77, 0, 0x12, 0x22\n" SPIN RETURN
             ".cfi_endproc\n" END);
// Linkers describe the PLT like this, with eight bytes more on the stack from byte 11 of an entry
// on. A timer hardly ever interrupts the one jump of a real entry, so this one has a loop in both
// halves. The five bytes between them are a nop whose length must not be left to the assembler.
asm(BEGIN(
    j) ".cfi_startproc\nmov $10000, %ecx\nmov $10000, %edx\n.p2align 4\n"
       ".cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22\n"
       "1: dec %ecx\njnz 1b\n.byte 0x0f, 0x1f, 0x44, 0, 0\npush $0\n"
       "2: dec %edx\njnz 2b\npop %rax\nret\n.cfi_endproc\n" END);
// This is not described, and has a frame pointer.
asm(BEGIN(n) "push %rbp\nmov %rsp, %rbp\n" MANY SPIN "pop %rbp\nret\n" END);
// This is not described, and has no frame. A function with a frame pointer is beside it.
asm(BEGIN(t) SPIN
    "ret\n.size leaf_t, . - leaf_t\n.type beside_t, %function\n.p2align 4\n"
    "beside_t:\npush %rbp\nmov %rsp, %rbp\npop %rbp\nret\n" END);
// This is not described either. It has words on the stack, uses the frame pointer for something
// else, and makes a call.
asm(BEGIN(u) "push %rbx\npush %rbp\nsub $24, %rsp\nmov $1, %ebp\n" SPIN
             "call chain_spin\nadd $24, %rsp\npop %rbp\npop %rbx\nret\n" END);
#else
// Entries of the PLT have no frame and no description here.
asm(BEGIN(j) ".cfi_startproc\n" SPIN RETURN ".cfi_endproc\n" END);
asm(BEGIN(h) ".cfi_startproc\nmov x9, x30\n.cfi_register 30, 9\nmov x30, #0\n" SPIN
             "mov x30, x9\n.cfi_restore 30\nret\n.cfi_endproc\n" END);
asm(BEGIN(
    w) ".cfi_startproc\nsub sp, sp, #0x20, lsl #12\n.cfi_adjust_cfa_offset 0x20000\n" SPIN
       "add sp, sp, #0x20, lsl #12\n.cfi_adjust_cfa_offset -0x20000\nret\n.cfi_endproc\n" END);
asm(BEGIN(q) ".cfi_startproc\nadd x9, sp, #0x30, lsl #12\n.cfi_def_cfa 9, -0x30000\n" SPIN
             ".cfi_def_cfa 31, 0\nret\n.cfi_endproc\n" END);
asm(BEGIN(o) ".cfi_startproc\n.cfi_escape 0x0f, 4, 0x8f, 0, 0x12, 0x22\n" SPIN RETURN
             ".cfi_endproc\n" END);
asm(BEGIN(n) "stp x29, x30, [sp, #-16]!\nmov x29, sp\n" MANY SPIN
             "ldp x29, x30, [sp], #16\nret\n" END);
asm(BEGIN(t) SPIN
    "ret\n.size leaf_t, . - leaf_t\n.type beside_t, %function\n.p2align 4\n"
    "beside_t:\nstp x29, x30, [sp, #-16]!\nmov x29, sp\nldp x29, x30, [sp], #16\nret\n" END);
#endif
// Its last instruction is a call. The function right behind it has another rule.
#if defined(__x86_64__)
#define LEAVE "sub $200, %rsp\n.cfi_adjust_cfa_offset 200\ncall chain_leave\n"
#else
#define LEAVE                                                                   \
  "stp x29, x30, [sp, #-208]!\n.cfi_def_cfa_offset 208\n.cfi_offset 29, -208\n" \
  ".cfi_offset 30, -200\nbl chain_leave\n"
#endif
asm(BEGIN(m) ".cfi_startproc\n" LEAVE
             ".cfi_endproc\n.cfi_startproc\n.cfi_def_cfa_offset 4096\n"
             "nop\n.cfi_endproc\n" END);
// This is not described at all.
asm(BEGIN(i) MANY SPIN RETURN END);
// A signal comes at its first instruction. The code before it has another rule.
asm(".pushsection chain_s, \"ax\", %progbits\n.cfi_startproc\n.cfi_def_cfa_offset 4096\n"
    "nop\nnop\nnop\nnop\n.cfi_endproc\n.globl leaf_s\n.type leaf_s, %function\nleaf_s:\n"
    ".cfi_startproc\n" FAULT RETURN ".cfi_endproc\n.popsection\n");

namespace labelscope::test {
namespace {

#define HARD_FUNCTION(letter) \
  __attribute__((noinline, noclone, section("chain_" #letter))) void function_##letter()

volatile unsigned sink;

__attribute__((noinline, noclone)) void spin() {
  for (unsigned i = 0; i < 20000; ++i) sink = sink + 1;
}

std::uint64_t address_of(const void* code) { return reinterpret_cast<std::uint64_t>(code); }
bool is_near(std::uint64_t pc, std::uint64_t start, std::uint64_t size) {
  return pc - start < size;
}

// This calls into code that the kernel maps.
HARD_FUNCTION(k) {
  timespec now{};
  for (int i = 0; i < 300; ++i) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    sink = sink + static_cast<unsigned>(now.tv_nsec);
  }
}
bool is_in_vdso(std::uint64_t pc) { return is_near(pc, getauxval(AT_SYSINFO_EHDR), 8192); }

// Its frame is aligned and has a size that is known only at run time: the CFA lies on the stack.
HARD_FUNCTION(l) {
  alignas(128) char aligned[256];
  const std::size_t size = 100 + sink % 64;
  auto* memory = static_cast<char*>(alloca(size));
  std::memset(aligned, 1, sizeof aligned);
  std::memset(memory, 1, size);
  asm volatile("" ::"r"(aligned), "r"(memory) : "memory");
  spin();
  sink = sink + static_cast<unsigned char>(aligned[3] + memory[7]);
}

std::jmp_buf way_back;
void come_back_from_m() {
  if (setjmp(way_back) == 0) leaf_m();
}

// Computes in the handler, and then steps over the instruction that faults.
void handle_fault(int, siginfo_t*, void* context) {
  spin();
#if defined(__x86_64__)
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] += 2;
#else
  static_cast<ucontext_t*>(context)->uc_mcontext.pc += 4;
#endif
}

// Until it ends, the child of vfork() has its parent's stack, and the parent waits for it.
HARD_FUNCTION(v) {
  for (int i = 0; i < 4; ++i) {
    const pid_t child = vfork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
  }
}
bool is_in_vfork(std::uint64_t pc) {
  return is_near(pc, reinterpret_cast<std::uint64_t>(&vfork), 64);
}

}  // namespace

extern "C" __attribute__((noinline, noclone)) void chain_spin() { spin(); }

extern "C" __attribute__((noinline, noclone, noreturn)) void chain_leave() {
  spin();
  std::longjmp(way_back, 1);
}

namespace {

template <class Bounds>
ChainCode code_of(char letter, const Bounds* start, const Bounds* stop) {
  return {letter, address_of(start), address_of(stop)};
}

}  // namespace

#if defined(__x86_64__)
#define HARD_LETTERS_OF_X86(X) X(u)
#else
#define HARD_LETTERS_OF_X86(X)
#endif
#define HARD_LETTERS(X) \
  X(h) X(i) X(j) X(k) X(l) X(m) X(n) X(o) X(q) X(s) X(v) X(w) X(t) HARD_LETTERS_OF_X86(X)
#define HARD_BOUNDS(letter)                 \
  extern "C" char __start_chain_##letter[]; \
  extern "C" char __stop_chain_##letter[];
HARD_LETTERS(HARD_BOUNDS)

const std::vector<HardCall>& hard_calls() {
  static const std::vector<HardCall> calls {
    {'h', "the return address is in a register", LS_STACK_ROOT, leaf_h, nullptr},
        {'i', "assembly code that says nothing", LS_STACK_ROOT, leaf_i, nullptr},
        {'j', "an entry of the PLT", LS_STACK_ROOT, leaf_j, nullptr},
        {'k', "the vDSO", LS_STACK_ROOT, function_k, is_in_vdso},
        {'l', "an aligned frame whose size varies", LS_STACK_ROOT, function_l, nullptr},
        {'m', "a call is the last instruction", LS_STACK_ROOT, come_back_from_m, nullptr},
        {'n', "assembly code with a frame pointer", LS_STACK_ROOT, leaf_n, nullptr},
        {'o', "a CFA that is an odd expression", LS_STACK_UNSUPPORTED, leaf_o, nullptr},
        {'q', "a CFA below its register", LS_STACK_ROOT, leaf_q, nullptr},
        {'s', "a signal at a function's first instruction", LS_STACK_ROOT, leaf_s, nullptr},
        {'v', "vfork()", LS_STACK_ROOT, function_v, is_in_vfork},
        {'w', "a large frame", LS_STACK_ROOT, leaf_w, nullptr},
#if defined(__x86_64__)
        {'u', "assembly code that says nothing, and calls", LS_STACK_ROOT, leaf_u, nullptr},
#endif
    {
      't', "the same beside code with a frame pointer", LS_STACK_ROOT, leaf_t, nullptr
    }
  };
  return calls;
}

const ChainCodes& all_chain_codes() {
#define HARD_CODE(letter) code_of(#letter[0], __start_chain_##letter, __stop_chain_##letter),
  static const ChainCodes codes = [] {
    ChainCodes all = chain_codes();
    for (const ChainCode& each : {HARD_LETTERS(HARD_CODE)}) all.push_back(each);
    return all;
  }();
  return codes;
}

std::uint64_t start_of_handler() { return reinterpret_cast<std::uint64_t>(handle_fault); }

void call_hard_ones(const std::function<bool()>& done) {
  begin_chain();
  struct sigaction action {};
  action.sa_sigaction = handle_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGILL, &action, nullptr);
  while (!done()) {
    for (const HardCall& each : hard_calls()) call_in_chain(each.letter, each.call);
  }
}

}  // namespace labelscope::test
