// At every instruction of a program, three unwinders walk the whole stack: ours, libdwfl
// (elfutils), and libgcc's, which throws C++ exceptions and runs within the program.
//
//  program   --- int3 ==.==.==.==.==.==.== int3 ---      . one instruction (PTRACE_SINGLESTEP)
//                       |  |
//                       |  +-- ours, over tables and the memory of the program
//                       +----- libdwfl, over the files and the memory of the program
//                       +----- SIGUSR1: its handler runs _Unwind_Backtrace(), which goes through
//                              the kernel's signal frame to this very instruction. Then the test
//                              puts all registers back, as if there had been no signal.
//
// The three share no code. If two of them agree and the third does not, the third is wrong;
// excused() has the exceptions, each with the reason. _Unwind_ForcedUnwind() is not used: it walks
// in the same way as _Unwind_Backtrace(), and ends the program's frames meanwhile.
#include <elf.h>
#include <elfutils/libdwfl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <set>
#include <span>

#include "labelscope/mapping.h"
#include "labelscope/target.h"
#include "ptrace/register_set.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/rights.h"
#include "support/target_process.h"
#include "unwind/frame.h"
#include "unwind/unwind.h"

namespace labelscope::test {
namespace {

// Each address is the instruction itself, or the last byte of a call. The leaf comes first.
using Frames = std::vector<Address>;

int wait_for_stop(pid_t pid) {
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFSTOPPED(status));
  return WSTOPSIG(status);
}

struct AllRegisters {
  user_regs_struct general{};
  std::vector<std::byte> vectors;  // NT_X86_XSTATE
};

AllRegisters read_registers(pid_t pid) {
  AllRegisters all;
  REQUIRE(::ptrace(PTRACE_GETREGS, pid, nullptr, &all.general) == 0);
  all.vectors.resize(std::size_t{1} << 16);
  iovec io{all.vectors.data(), all.vectors.size()};
  REQUIRE(::ptrace(PTRACE_GETREGSET, pid, 0x202, &io) == 0);
  all.vectors.resize(io.iov_len);
  return all;
}

void write_registers(pid_t pid, AllRegisters& all) {
  iovec io{all.vectors.data(), all.vectors.size()};
  REQUIRE(::ptrace(PTRACE_SETREGSET, pid, 0x202, &io) == 0);
  REQUIRE(::ptrace(PTRACE_SETREGS, pid, nullptr, &all.general) == 0);
}

// ---- the three unwinders

class Ours {
 public:
  Ours(const LiveProcess& process, const BuildUnwindTable& build) : process_(process) {
    auto unwinder = Unwinder::open(process, nullptr, build);
    REQUIRE(unwinder);
    unwinder_ = *std::move(unwinder);
  }
  UnwoundStack unwind(const user_regs_struct& general) {
    const auto set = decode_register_set(Machine::kX86_64, std::as_bytes(std::span(&general, 1)));
    REQUIRE(set);
    for (;;) {
      auto stack = unwinder_->unwind(set->registers, process_.memory(), std::nullopt);
      for (std::size_t i = 1; i < stack.frames.size(); ++i) {
        stack.frames[i] = frame_of(stack.frames[i]).value - 1;
      }
      if (!unwinder_->lacks_tables()) return stack;
      unwinder_->make_tables(process_);
    }
  }

 private:
  const LiveProcess& process_;
  std::unique_ptr<Unwinder> unwinder_;
};

class Libdwfl {
 public:
  explicit Libdwfl(pid_t pid) : pid_(pid), dwfl_(::dwfl_begin(&callbacks_)) {
    REQUIRE(dwfl_ != nullptr);
    REQUIRE(::dwfl_linux_proc_report(dwfl_, pid) == 0);
    REQUIRE(::dwfl_report_end(dwfl_, nullptr, nullptr) == 0);
    REQUIRE(::dwfl_linux_proc_attach(dwfl_, pid, true) == 0);
  }
  ~Libdwfl() { ::dwfl_end(dwfl_); }
  Libdwfl(const Libdwfl&) = delete;
  Libdwfl& operator=(const Libdwfl&) = delete;

  Frames unwind() {
    Frames frames;
    ::dwfl_getthread_frames(dwfl_, pid_, &note, &frames);  // fails where the stack ends oddly
    return frames;
  }

 private:
  static int note(Dwfl_Frame* frame, void* argument) {
    Dwarf_Addr pc = 0;
    bool interrupted = false;
    if (!::dwfl_frame_pc(frame, &pc, &interrupted)) return DWARF_CB_ABORT;
    static_cast<Frames*>(argument)->push_back(pc - (interrupted ? 0 : 1));
    return DWARF_CB_OK;
  }

  pid_t pid_;
  Dwfl_Callbacks callbacks_{::dwfl_linux_proc_find_elf, ::dwfl_standard_find_debuginfo, nullptr,
                            nullptr};
  Dwfl* dwfl_;
};

// Returns nothing if libgcc crashed. Restores every register of the program. `deferred` is a signal
// that came meanwhile, and must still be given to the program.
std::optional<Frames> ask_libgcc(pid_t pid, AllRegisters& now, Address noted,
                                 const MemorySource& memory, int& deferred) {
  // The signal is sent, not injected: the stop at the start of a handler takes no signal.
  REQUIRE(::syscall(SYS_tgkill, pid, pid, SIGUSR1) == 0);
  for (int signal = 0; signal != SIGTRAP;) {
    REQUIRE(::ptrace(PTRACE_CONT, pid, nullptr, signal == SIGUSR1 ? SIGUSR1 : 0) == 0);
    signal = wait_for_stop(pid);
    if (signal == SIGSEGV) {  // libgcc has followed a wrong address
      write_registers(pid, now);
      return std::nullopt;
    }
    if (signal == SIGCHLD || signal == SIGUSR2) deferred = signal;
  }
  const auto count = read_value<std::uint64_t>(memory, noted);
  REQUIRE(count);
  REQUIRE(*count <= 256);
  Frames frames(*count);
  REQUIRE(memory.read(noted + sizeof *count, std::as_writable_bytes(std::span(frames))));
  write_registers(pid, now);
  // The frames of the handler and of the kernel come before the interrupted one.
  const auto interrupted = std::find(frames.begin(), frames.end(), now.general.rip);
  return Frames(interrupted, frames.end());
}

// ---- all of them at every instruction

struct Walked {
  std::size_t instructions = 0;
  std::size_t landing = 0;  // an excused difference
  std::size_t whole = 0;
  std::vector<std::string> differences;
  std::set<Address> code;  // code addresses that were on a stack
  nlohmann::json truth;
};

class Walk {
 public:
  Walk(const TargetProcess& target, const LiveProcess& process, const BuildUnwindTable& build,
       bool may_end)
      : pid_(raw(target.pid())),
        process_(process),
        may_end_(may_end),
        noted_(target.lines().at(0).at("libgcc").get<Address>()),
        ours_(process, build),
        libdwfl_(pid_) {
    walked_.truth = target.lines().at(0).at("shapes");
    other_stack_ = walked_.truth.at("other_stack").get<Address>();
    auto mappings = process.mappings();
    REQUIRE(mappings);
    mappings_ = *std::move(mappings);
  }

  // Runs from the first breakpoint instruction to the second, or to this number of differences.
  Walked run(std::size_t most_differences);

 private:
  void compare(AllRegisters& now);
  bool excused(const UnwoundStack& ours, const Frames& libdwfl,
               const std::optional<Frames>& libgcc);
  bool ends_early(const UnwoundStack& ours, const Frames& libdwfl,
                  const std::optional<Frames>& libgcc);
  Frames as_ours(Frames frames) const;
  std::string text_of(const Frames& frames) const;
  std::string module_of(Address address) const {
    const Mapping* mapping = find_mapping(mappings_, address);
    return mapping == nullptr ? "?" : mapping->path.substr(mapping->path.rfind('/') + 1);
  }

  pid_t pid_;
  const LiveProcess& process_;
  bool may_end_;
  Address noted_;
  Address other_stack_ = 0;  // the function that changes stacks
  Ours ours_;
  Libdwfl libdwfl_;
  std::vector<Mapping> mappings_;
  Walked walked_;
  int deferred_ = 0;
  std::set<Address> in_vdso_;  // instructions that were compared
};

std::string Walk::text_of(const Frames& frames) const {
  std::string text;
  for (const Address address : frames) {
    char number[32];
    const Mapping* mapping = find_mapping(mappings_, address);
    std::snprintf(
        number, sizeof number, "+%llx ",
        static_cast<unsigned long long>(
            mapping == nullptr ? address : address - mapping->start + mapping->file_offset));
    text += module_of(address) + number;
  }
  return text;
}

// Cuts the frames of other unwinders at the first address that is no code: ours does not count it,
// they do. libdwfl takes a frame of augmentation "S" for interrupted code: the kernel's return code
// of a handler (__restore_rt), and a function that has called on another stack. Both are returned
// to, so the others look one byte before.
Frames Walk::as_ours(Frames frames) const {
  const auto no_code = std::ranges::find_if(frames, [&](Address address) {
    const Mapping* mapping = find_mapping(mappings_, address);
    return mapping == nullptr || !mapping->executable;
  });
  frames.erase(no_code, frames.end());
  constexpr std::uint64_t kReturnFromHandler = 0x0f0000000fc0c748;  // mov $15, %rax; syscall
  constexpr std::uint64_t kReturnFromStack = 0x00057ac4801f0f;      // nopl 0x57ac4(%rax)
  for (std::size_t i = 1; i < frames.size(); ++i) {
    const auto code = read_value<std::uint64_t>(process_.memory(), frames[i]);
    // Where nothing is described, ours cannot know that the caller goes on at its very address.
    constexpr Address kBytes = 27;
    if (may_end_ && frames[i - 1] - other_stack_ < kBytes) --frames[i];
    if (!code) continue;
    if (*code == kReturnFromHandler || *code << 8 == kReturnFromStack << 8) --frames[i];
  }
  return frames;
}

bool Walk::excused(const UnwoundStack& ours, const Frames& libdwfl,
                   const std::optional<Frames>& libgcc) {
  // While it binds a name, the dynamic linker aligns its stack and keeps the old stack pointer in
  // rbx (_dl_runtime_resolve()). libdwfl's stack ends there until a called function has saved rbx.
  if (libgcc && ours.frames == *libgcc && libdwfl.size() < libgcc->size() &&
      std::equal(libdwfl.begin(), libdwfl.end(), libgcc->begin()) &&
      module_of(libdwfl.back()).starts_with("ld-linux")) {
    return true;
  }
  // In the last instructions of _Unwind_Resume(), which go to a landing pad, the return address is
  // not where call frame information says: the compiler writes none for __builtin_eh_return(). No
  // unwinder can be right there, and libgcc even crashes.
  if (!libgcc && ours.frames == libdwfl && module_of(libdwfl.front()).starts_with("libgcc_s")) {
    ++walked_.landing;
    return true;
  }
  return false;
}

// Returns whether our stack ends early, reports that, and is right so far. If the other two do not
// agree with each other, it must agree with one of them.
bool Walk::ends_early(const UnwoundStack& ours, const Frames& libdwfl,
                      const std::optional<Frames>& libgcc) {
  const auto is_start_of = [&](const Frames& whole) {
    return ours.frames.size() <= whole.size() &&
           std::equal(ours.frames.begin(), ours.frames.end(), whole.begin());
  };
  const bool says_so = ours.end != LS_STACK_ROOT && ours.end != LS_STACK_CHAIN_ENDED;
  const bool at_start = ours.end == LS_STACK_ENTRY;
  // On the way to a landing pad (see excused()), rbp is already that of the function there.
  const bool lands = ours.frames.front() == libdwfl.front() && libdwfl.size() == 2 &&
                     module_of(libdwfl.front()).starts_with("libgcc_s");
  if (lands) {
    ++walked_.landing;
    return true;
  }
  return says_so && (!at_start || !libgcc || ours.frames.size() + 1 >= libgcc->size()) &&
         (is_start_of(libdwfl) || (libgcc && is_start_of(*libgcc)));
}

void Walk::compare(AllRegisters& now) {
  const UnwoundStack ours = ours_.unwind(now.general);
  const Frames libdwfl = as_ours(libdwfl_.unwind());
  auto libgcc = ask_libgcc(pid_, now, noted_, process_.memory(), deferred_);
  if (libgcc) libgcc = as_ours(*std::move(libgcc));
  walked_.code.insert(ours.frames.begin(), ours.frames.end());
  walked_.whole += ours.end == LS_STACK_ROOT || ours.end == LS_STACK_ENTRY;
  if (ours.frames == libdwfl && ours.frames == libgcc) return;
  if (may_end_ && ends_early(ours, libdwfl, libgcc)) return;
  if (excused(ours, libdwfl, libgcc)) return;
  walked_.differences.push_back("instruction " + std::to_string(walked_.instructions) +
                                "\n  ours    " + text_of(ours.frames) + ours.cut + "\n  libdwfl " +
                                text_of(libdwfl) + "\n  libgcc  " +
                                text_of(libgcc.value_or(Frames{})));
}

Walked Walk::run(std::size_t most_differences) {
  for (int signal = 0; walked_.differences.size() < most_differences;) {
    REQUIRE(::ptrace(PTRACE_SINGLESTEP, pid_, nullptr, signal) == 0);
    signal = wait_for_stop(pid_);
    if (signal == SIGTRAP) {
      AllRegisters now = read_registers(pid_);
      const auto byte = read_value<std::uint8_t>(process_.memory(), now.general.rip - 1);
      siginfo_t why{};
      REQUIRE(::ptrace(PTRACE_GETSIGINFO, pid_, nullptr, &why) == 0);
      if (why.si_code == SI_KERNEL && byte && *byte == 0xcc) break;
      ++walked_.instructions;
      // The vDSO reads the clock again if that has ticked meanwhile. It always has after sixty
      // comparisons, so each instruction of the vDSO is compared only once.
      if (module_of(now.general.rip) != "[vdso]" || in_vdso_.insert(now.general.rip).second) {
        compare(now);
      }
      signal = std::exchange(deferred_, 0);
    }
  }
  return std::move(walked_);
}

// The program stays on it, too. If the two had to wake each other on an idle processor, several
// times for each instruction, the test could take thirty times as long.
void stay_on_this_processor() {
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(::sched_getcpu(), &here);
  REQUIRE(::sched_setaffinity(0, sizeof here, &here) == 0);
}

Walked walk_everywhere(const BuildUnwindTable& build = {}, std::size_t most_differences = 12,
                       bool may_end = false) {
  skip_without_ptrace();
  stay_on_this_processor();
  TargetOptions options;
  options.program = paths::kStackShapes;
  auto target = TargetProcess::spawn(options);
  REQUIRE(target);
  const pid_t pid = raw(target->pid());
  REQUIRE(::ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_EXITKILL) == 0);
  REQUIRE(target->send("go"));
  REQUIRE(wait_for_stop(pid) == SIGTRAP);
  auto process = LiveProcess::open(target->pid());
  REQUIRE(process);
  Walked walked = Walk(*target, **process, build, may_end).run(most_differences);
  REQUIRE(::kill(pid, SIGKILL) == 0);
  return walked;
}

std::string text_of(const Walked& walked) {
  std::string text;
  for (const std::string& difference : walked.differences) text += difference + "\n";
  return text;
}

// Returns the same file as if it had been made without call frame information. With `stripped` it
// also has no symbols but the dynamic ones.
UniqueFd without_call_frames(const UniqueFd& file, bool stripped) {
  std::vector<char> bytes(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_END)));
  REQUIRE(::pread(file.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    char* const at = bytes.data() + header.e_phoff + i * sizeof segment;
    std::memcpy(&segment, at, sizeof segment);
    if (segment.p_type == PT_GNU_EH_FRAME) segment.p_type = PT_NULL;
    std::memcpy(at, &segment, sizeof segment);
  }
  const auto section_at = [&](std::size_t index) {
    return bytes.data() + header.e_shoff + index * sizeof(Elf64_Shdr);
  };
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    Elf64_Shdr names;
    std::memcpy(&section, section_at(i), sizeof section);
    std::memcpy(&names, section_at(header.e_shstrndx), sizeof names);
    const std::string name = bytes.data() + names.sh_offset + section.sh_name;
    const bool hidden =
        name.starts_with(".eh_frame") || name == ".debug_frame" || (stripped && name == ".symtab");
    if (hidden) section.sh_type = SHT_NOBITS, section.sh_name = 0;
    std::memcpy(section_at(i), &section, sizeof section);
  }
  UniqueFd copy(::memfd_create("without_call_frames", MFD_CLOEXEC));
  REQUIRE(::pwrite(copy.get(), bytes.data(), bytes.size(), 0) ==
          static_cast<ssize_t>(bytes.size()));
  return copy;
}

}  // namespace

TEST_CASE("stepped_unwind: without call frame information, stacks are right as far as they go") {
  const bool stripped = GENERATE(false, true);
  const BuildUnwindTable build = [&](UniqueFd file) {
    return build_unwind_table(without_call_frames(file, stripped));
  };
  const Walked walked = walk_everywhere(build, 12, true);
  WARN(walked.instructions << " instructions, " << walked.whole << " whole stacks"
                           << (stripped ? ", stripped" : ""));
  INFO(text_of(walked));
  CHECK(walked.differences.empty());
  CHECK(walked.instructions > 10'000);
  CHECK(walked.landing < 8);
  CHECK((stripped || walked.whole * 2 > walked.instructions));
}

TEST_CASE("stepped_unwind: at every instruction three unwinders find the same stack") {
  const Walked walked = walk_everywhere();
  WARN(walked.instructions << " instructions, " << walked.whole << " whole stacks");
  INFO(text_of(walked));
  CHECK(walked.differences.empty());
  CHECK(walked.instructions > 10'000);
  CHECK(walked.landing < 40);
  // Also while names are bound, in signal handlers, and on other stacks. The vDSO is compared once.
  CHECK(walked.whole + 100 > walked.instructions);
  for (const auto& [name, address] : walked.truth.items()) {
    INFO(name);
    CHECK(walked.code.contains(address.get<Address>()));
  }
}

TEST_CASE("stepped_unwind: one kind of rule that is wrong shows") {
  const auto shows = [](auto damage) {
    const BuildUnwindTable build = [&](UniqueFd file) {
      auto table = build_unwind_table(std::move(file));
      if (table) std::ranges::for_each(table->rules, damage);
      return table;
    };
    return !walk_everywhere(build, 1).differences.empty();
  };
  SECTION("PLT") {
    CHECK(shows([](ls_unwind_rule& rule) { rule.operand += rule.cfa == LS_CFA_PLT; }));
  }
  SECTION("realigned stack") {
    CHECK(shows([](ls_unwind_rule& rule) {
      if (rule.cfa == LS_CFA_AT_FP) rule.cfa_offset += 8;
    }));
  }
  SECTION("return address in a register") {
    CHECK(shows([](ls_unwind_rule& rule) {
      if (rule.ra == LS_RA_REGISTER) ++rule.ra_offset;
    }));
  }
  SECTION("signal frame") {
    CHECK(shows([](ls_unwind_rule& rule) {
      if (rule.cfa == LS_CFA_SIGNAL) rule.cfa = LS_CFA_GAP;
    }));
  }
  SECTION("another stack") {
    CHECK(shows([](ls_unwind_rule& rule) {
      if (rule.ra == LS_RA_OTHER_STACK) rule.ra = LS_RA_AT_CFA;
    }));
  }
  SECTION("place of rbx") {
    CHECK(shows([](ls_unwind_rule& rule) {
      const bool has_place = rule.cfa == LS_CFA_SP || rule.cfa == LS_CFA_FP;
      if (has_place && LS_OPERAND_NUMBER(rule.operand) > LS_RBX_SAME) ++rule.operand;
    }));
  }
  SECTION("frame pointer that is saved") {
    CHECK(shows([](ls_unwind_rule& rule) {
      if (rule.fp == LS_FP_AT_CFA) rule.fp = LS_FP_SAME;
    }));
  }
}

}  // namespace labelscope::test
