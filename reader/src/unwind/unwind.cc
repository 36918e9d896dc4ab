// This is the Unwinder over the tables of target_tables.h, by the same step that samples in the
// kernel take (unwind_step.h). The thread is held while its stack is unwound, so that must be
// quick: if a table is not there yet, the stack ends, and the table is made when the thread runs
// again. After the deadline a step gets no memory, and is the last.
#include "unwind/unwind.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <utility>

#include "process/cached_memory.h"
#include "unwind/target_tables.h"

namespace labelscope {
namespace {

std::string hex_address(Address address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

class TableUnwinder final : public Unwinder {
 public:
  TableUnwinder(std::shared_ptr<TargetTables::Files> files, BuildUnwindTable build)
      : tables_(std::move(files), std::move(build)) {}

  Status refresh(const Target& target) override { return tables_.load(target); }
  UnwoundStack unwind(const Registers& registers, const MemorySource& memory,
                      std::optional<Clock::time_point> deadline) override;
  void expect(Address address) override { tables_.expect(address); }
  bool lacks_tables() const override { return tables_.wants(); }
  void make_tables(const Target& target) override { tables_.make(target); }
  const TargetTables& tables() const { return tables_; }

 private:
  static int late(void* self) {
    const auto& deadline = static_cast<TableUnwinder*>(self)->deadline_;
    return deadline && Clock::now() >= *deadline ? 1 : 0;
  }
  static int read(void* self, void* out, __u32 size, __u64 address) {
    auto* unwinder = static_cast<TableUnwinder*>(self);
    if (late(self) != 0) return 0;
    return unwinder->memory_.read(unwinder->source_->untagged(address),
                                  std::span(static_cast<std::byte*>(out), size))
               ? 1
               : 0;
  }

  TargetTables tables_;
  CachedMemory memory_;
  const MemorySource* source_ = nullptr;
  std::optional<Clock::time_point> deadline_;
  ls_stack_walk walk_{};
};

// Returns in words why the stack ends, or nothing if code and frame pointers show that this is the
// start.
std::string words(const ls_stack_walk& walk, const TargetTables& tables) {
  switch (walk.end) {
    case LS_STACK_ROOT:
    case LS_STACK_ENTRY:
    case LS_STACK_CHAIN_ENDED:
      return {};
    case LS_STACK_TOO_DEEP:
      return "it has more than " + std::to_string(LS_WALK_MAX_FRAMES) + " frames";
    case LS_STACK_OUT_OF_TIME:
      return "the time for holding the thread was over";
    case LS_STACK_NO_MAPPING:
    case LS_STACK_BAD_RETURN:
      return "after " + hex_address(walk.pc) + " comes " + hex_address(walk.next) +
             ", which is no code";
    default:
      break;
  }
  if (walk.end == LS_STACK_LEFT_OUT) {
    return "it leaves out the caller of a function that changes stacks";
  }
  std::string why;
  switch (walk.end) {
    case LS_STACK_NO_WAY_ON:
      why = "nothing describes its code";
      break;
    case LS_STACK_NO_TABLE:
      why = "its file has no unwind table";
      if (const std::string problem = tables.problem_at(walk.mapping); !problem.empty()) {
        why += " (" + problem + ")";
      }
      break;
    case LS_STACK_UNSUPPORTED:
      why = "its call frame information is of a rare kind";
      break;
    case LS_STACK_NOT_RESIDENT:
      why = "its stack cannot be read";
      break;
    default:
      why = "its caller's frame would not be above its own";
  }
  return "there is no way on from " + hex_address(walk.pc) + ": " + why;
}

UnwoundStack TableUnwinder::unwind(const Registers& registers, const MemorySource& memory,
                                   std::optional<Clock::time_point> deadline) {
  memory_.start(memory);
  source_ = &memory;
  deadline_ = deadline;
  walk_.read = &TableUnwinder::read;
  walk_.late = &TableUnwinder::late;
  walk_.self = this;
  walk_.pc = registers.pc;
  std::copy(registers.dwarf.begin(), registers.dwarf.end(), walk_.registers);
  tables_.give(walk_, registers.machine);
  (registers.machine == Machine::kAarch64 ? ls_walk_aarch64 : ls_walk_x86_64)(&walk_);
  if (walk_.end == LS_STACK_NO_TABLE) tables_.want(walk_.mapping);
  return {{walk_.frames, walk_.frames + walk_.count}, walk_.end, words(walk_, tables_)};
}

}  // namespace

Result<std::unique_ptr<Unwinder>> Unwinder::open(const Target& target, const Unwinder* like,
                                                 const BuildUnwindTable& build) {
  const auto* sibling = dynamic_cast<const TableUnwinder*>(like);
  auto unwinder = std::make_unique<TableUnwinder>(
      sibling != nullptr ? sibling->tables().files() : std::make_shared<TargetTables::Files>(),
      build);
  if (Status status = unwinder->refresh(target); !status) return std::move(status).error();
  return std::unique_ptr<Unwinder>(std::move(unwinder));
}

}  // namespace labelscope
