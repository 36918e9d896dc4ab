// Unwinder over libdwfl.
//
// The problem: the thread is held while its stack is unwound, so that must be quick, and must have
// a deadline. libdwfl has none and likes to open files. So the work is split:
//
//   while the target runs     libdwfl gets all modules and their call frame information
//                             (unwind_modules.h)
//   while the thread is held  libdwfl only steps from frame to frame. From the registers and the
//                             rules for the pc it computes the CFA and the caller's registers, and
//                             reads words of the stack. Where there are no rules (code made at run
//                             time, hand-written code), it follows the frame pointer.
//
// libdwfl calls us for every word of memory and for every frame. After the deadline we refuse both,
// and it gives up. So it can be late by one step: by the interpretation of one entry of call frame
// information.
#include "unwind/unwind.h"

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <libelf.h>

#include <cstring>
#include <unordered_map>
#include <utility>

#include "process/cached_memory.h"
#include "unwind/resumed_frames.h"
#include "unwind/unwind_modules.h"

namespace labelscope {
namespace {

// So many addresses are remembered, with whether a signal handler returns there.
constexpr std::size_t kMaxKnownCode = 65536;

struct ElfCloser {
  void operator()(Elf* elf) const { elf_end(elf); }
};

class DwflUnwinder final : public Unwinder {
 public:
  explicit DwflUnwinder(std::shared_ptr<UnwindModules::Images> images)
      : modules_(std::move(images)) {}

  Status refresh(const Target& target) override;
  UnwoundStack unwind(const Registers& registers, const MemorySource& memory,
                      std::optional<Clock::time_point> deadline) override;
  const UnwindModules& modules() const { return modules_; }

 private:
  // The state of one stack. libdwfl goes from frame to frame. At a frame that it cannot step out
  // of, we compute the next frame and start it again there.
  struct Walk {
    Registers registers;
    std::optional<Clock::time_point> deadline;
    UnwoundStack stack;
    std::optional<Registers> resume;
    bool after_bad_call = false;
    Address last_pc = 0;  // with its signature, if it has one
    Address frame_pointer = 0;
  };

  static pid_t next_thread(Dwfl*, void*, void**) { return 0; }
  static bool choose_thread(Dwfl*, pid_t, void* self, void** thread) {
    *thread = self;
    return true;
  }
  static bool read_word(Dwfl*, Dwarf_Addr address, Dwarf_Word* word, void* self);
  static bool set_registers(Dwfl_Thread* thread, void* self);
  static int on_frame(Dwfl_Frame* frame, void* self);

  Status attach(Machine machine);
  bool returns_from_signal(Address pc);
  Address without_signature(Address value) const;
  bool late();
  int take_frame(Dwfl_Frame* frame);
  int end(ls_stack_end how, std::string why);

  static const Dwfl_Thread_Callbacks kThreadCallbacks;

  std::unordered_map<Address, bool> signal_returns_;
  Elf64_Ehdr machine_header_{};
  std::unique_ptr<Elf, ElfCloser> machine_elf_;
  UnwindModules modules_;  // has libdwfl, which must be destroyed before machine_elf_
  std::optional<Machine> attached_;
  CachedMemory memory_;
  Walk walk_;
};

const Dwfl_Thread_Callbacks DwflUnwinder::kThreadCallbacks{&DwflUnwinder::next_thread,
                                                           &DwflUnwinder::choose_thread,
                                                           &DwflUnwinder::read_word,
                                                           &DwflUnwinder::set_registers,
                                                           nullptr,
                                                           nullptr};

Status DwflUnwinder::refresh(const Target& target) {
  signal_returns_.clear();
  return modules_.load(target);
}

Status DwflUnwinder::attach(Machine machine) {
  if (attached_ == machine) return {};
  if (attached_) return Error{ErrorCode::kUnsupported, "one process, two kinds of processor"};
  // libdwfl wants a file to tell the kind of processor. It gets an ELF header and nothing else.
  std::memcpy(machine_header_.e_ident, ELFMAG, SELFMAG);
  machine_header_.e_ident[EI_CLASS] = ELFCLASS64;
  machine_header_.e_ident[EI_DATA] = ELFDATA2LSB;
  machine_header_.e_ident[EI_VERSION] = EV_CURRENT;
  machine_header_.e_type = ET_CORE;
  machine_header_.e_machine = machine == Machine::kX86_64 ? EM_X86_64 : EM_AARCH64;
  machine_header_.e_version = EV_CURRENT;
  machine_header_.e_ehsize = sizeof machine_header_;
  machine_elf_.reset(elf_memory(reinterpret_cast<char*>(&machine_header_),  // NOLINT: bytes
                                sizeof machine_header_));
  constexpr pid_t kAny = 1;  // libdwfl only hands it back
  if (!machine_elf_ ||
      !dwfl_attach_state(modules_.dwfl(), machine_elf_.get(), kAny, &kThreadCallbacks, this)) {
    return Error{ErrorCode::kUnsupported, std::string("libdwfl: ") + dwfl_errmsg(-1)};
  }
  attached_ = machine;
  return {};
}

bool DwflUnwinder::late() {
  if (walk_.stack.end != LS_STACK_OUT_OF_TIME && walk_.deadline &&
      Clock::now() >= *walk_.deadline) {
    end(LS_STACK_OUT_OF_TIME, "the time for holding the thread was over");
  }
  return walk_.stack.end == LS_STACK_OUT_OF_TIME;
}

bool DwflUnwinder::read_word(Dwfl*, Dwarf_Addr address, Dwarf_Word* word, void* self) {
  auto* unwinder = static_cast<DwflUnwinder*>(self);
  if (unwinder->late()) return false;
  std::uint64_t value = 0;
  if (!unwinder->memory_.read(address, std::as_writable_bytes(std::span(&value, 1)))) return false;
  *word = unwinder->without_signature(value);
  return true;
}

// On x86-64 addresses have no signature.
Address DwflUnwinder::without_signature(Address value) const {
  return walk_.registers.machine == Machine::kAarch64 ? modules_.unsigned_code(value) : value;
}

bool DwflUnwinder::set_registers(Dwfl_Thread* thread, void* self) {
  auto* unwinder = static_cast<DwflUnwinder*>(self);
  Registers& registers = unwinder->walk_.registers;
  Address& return_address = registers.dwarf[return_address_number(registers.machine)];
  return_address = registers.machine == Machine::kX86_64
                       ? registers.pc
                       : unwinder->without_signature(return_address);
  if (!dwfl_thread_state_registers(thread, 0, register_count(registers.machine),
                                   registers.dwarf.data())) {
    return false;
  }
  dwfl_thread_state_register_pc(thread, registers.pc);
  return true;
}

bool DwflUnwinder::returns_from_signal(Address pc) {
  if (signal_returns_.size() >= kMaxKnownCode) signal_returns_.clear();
  auto [known, fresh] = signal_returns_.try_emplace(pc, false);
  if (fresh) known->second = is_signal_return(walk_.registers.machine, pc, memory_);
  return known->second;
}

int DwflUnwinder::end(ls_stack_end how, std::string why) {
  walk_.stack.end = how;
  walk_.stack.cut = std::move(why);
  return DWARF_CB_ABORT;
}

int DwflUnwinder::on_frame(Dwfl_Frame* frame, void* self) {
  return static_cast<DwflUnwinder*>(self)->take_frame(frame);
}

int DwflUnwinder::take_frame(Dwfl_Frame* frame) {
  if (late()) return DWARF_CB_ABORT;
  std::vector<Address>& frames = walk_.stack.frames;
  const Machine machine = walk_.registers.machine;
  Dwarf_Addr pc = 0;
  bool interrupted = false;  // not at a call
  if (!dwfl_frame_pc(frame, &pc, &interrupted)) {
    return end(LS_STACK_NO_WAY_ON, "libdwfl has no address for a frame");
  }
  if (pc == 0 && !interrupted) return end(LS_STACK_ROOT, {});
  const bool code = modules_.is_code(pc);
  // A call through a bad pointer. Only one in a stack is believed: after a second nothing is sure.
  const bool bad_call = !code && interrupted && !walk_.after_bad_call;
  if (!code && !bad_call && !frames.empty()) {
    return end(LS_STACK_NO_WAY_ON, "after " + hex_address(walk_.last_pc) + " comes " +
                                       hex_address(pc) + ", which is no code");
  }
  if (frames.size() == kMaxFrames) {
    return end(LS_STACK_TOO_DEEP, "it has more than " + std::to_string(kMaxFrames) + " frames");
  }
  // No call instruction has led from the signal's return code to the handler, either.
  const bool signal_return = !frames.empty() && code && returns_from_signal(pc);
  frames.push_back(!frames.empty() && (interrupted || signal_return) ? pc + 1 : pc);
  walk_.last_pc = pc;
  walk_.frame_pointer = 0;
  Dwarf_Word value = 0;
  if (dwfl_frame_reg(frame, frame_pointer_number(machine), &value) == 0) {
    walk_.frame_pointer = value;
  }
  walk_.after_bad_call = bad_call;
  if (bad_call) {
    walk_.resume = registers_before_call(walk_.registers, memory_);
    return walk_.resume ? DWARF_CB_ABORT
                        : end(LS_STACK_NO_WAY_ON, "there is no code at " + hex_address(pc));
  }
  if (signal_return && dwfl_frame_reg(frame, stack_pointer_number(machine), &value) == 0) {
    walk_.resume = interrupted_registers(machine, value, memory_);
    if (walk_.resume) return DWARF_CB_ABORT;
  }
  return DWARF_CB_OK;
}

UnwoundStack DwflUnwinder::unwind(const Registers& registers, const MemorySource& memory,
                                  std::optional<Clock::time_point> deadline) {
  memory_.start(memory);
  walk_ = {};
  walk_.registers = registers;
  walk_.deadline = deadline;
  if (Status status = attach(registers.machine); !status) {
    walk_.stack.frames = {registers.pc};
    end(LS_STACK_NO_WAY_ON, status.error().context);
    return std::move(walk_.stack);
  }
  // Each turn adds a frame, and the frames are bounded.
  for (;;) {
    walk_.resume.reset();
    const std::size_t before = walk_.stack.frames.size();
    constexpr pid_t kAny = 1;
    const int result = dwfl_getthread_frames(modules_.dwfl(), kAny, &DwflUnwinder::on_frame, this);
    if (walk_.resume && walk_.stack.frames.size() > before) {
      walk_.registers = *walk_.resume;
      continue;
    }
    if (walk_.stack.end == LS_STACK_MISSING) {  // libdwfl has ended it, not we
      walk_.stack.end = LS_STACK_ROOT;
      // Both ABIs end the chain of frame pointers with 0 (psABI 3.4.1, AAPCS64 6.4.6).
      if (result != DWARF_CB_OK && (walk_.frame_pointer != 0 || walk_.stack.frames.size() <= 1)) {
        end(LS_STACK_NO_WAY_ON,
            "there is no way on from " + hex_address(walk_.last_pc) + " (" + dwfl_errmsg(-1) + ")");
      }
    }
    // The deadline passed before libdwfl reached the first frame. The registers tell its pc.
    if (walk_.stack.frames.empty()) walk_.stack.frames = {registers.pc};
    return std::move(walk_.stack);
  }
}

}  // namespace

Result<std::unique_ptr<Unwinder>> Unwinder::open(const Target& target, const Unwinder* like) {
  const auto* sibling = dynamic_cast<const DwflUnwinder*>(like);
  auto unwinder = std::make_unique<DwflUnwinder>(
      sibling != nullptr ? sibling->modules().images() : std::make_shared<UnwindModules::Images>());
  if (Status status = unwinder->refresh(target); !status) return std::move(status).error();
  return std::unique_ptr<Unwinder>(std::move(unwinder));
}

}  // namespace labelscope
