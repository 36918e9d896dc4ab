// An Unwinder takes stacks by call frame information (.eh_frame, .debug_frame), which was made into
// tables before: they are whole also for code without frame pointers. It is for a thread that is
// stopped, or in a core file.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "labelscope/memory.h"
#include "labelscope/registers.h"
#include "labelscope/target.h"
#include "unwind/stack.h"
#include "unwind_table/build_unwind_table.h"

namespace labelscope {

struct UnwoundStack {
  // The leaf comes first: the program counter, then return addresses as they are (not moved back).
  // Code that a signal interrupted is not at a call: its frame is the address plus one. So for
  // every frame but the first, one byte less is in the instruction that the thread is at.
  // They are words with a kind (frame.h).
  std::vector<std::uint64_t> frames;
  ls_stack_end end = LS_STACK_MISSING;
  std::string cut;  // why it ends before the root, in words; empty for a whole stack
};

// It is not thread-safe.
class Unwinder {
 public:
  static constexpr std::size_t kMaxFrames = 512;  // LS_WALK_MAX_FRAMES
  using Clock = std::chrono::steady_clock;

  virtual ~Unwinder() = default;
  // Looks at what is mapped, and reads no file. A module that cannot be used only shortens stacks;
  // if code has no call frame information, frame pointers are followed. The unwinder shares the
  // tables of files with `like`, an unwinder of another target, which is then used on the same
  // thread. `build` makes the table of a file; if it is empty, libdw does that in this process.
  static Result<std::unique_ptr<Unwinder>> open(const Target& target,
                                                const Unwinder* like = nullptr,
                                                const BuildUnwindTable& build = {});
  // Call this after the target's mappings changed: it forgets what is gone.
  virtual Status refresh(const Target& target) = 0;
  // Without a deadline, only kMaxFrames bounds the time.
  virtual UnwoundStack unwind(const Registers& registers, const MemorySource& memory,
                              std::optional<Clock::time_point> deadline) = 0;
  // Notes that a stack may lead through the code at this address, if it is any: make_tables() then
  // makes its table before the first stack needs it. Any number may be given.
  virtual void expect(Address address) = 0;
  // Returns whether a stack has ended in a module whose table was not made yet (LS_STACK_NO_TABLE),
  // since tables were made last, or is expected to.
  virtual bool lacks_tables() const = 0;
  // Makes those tables, so that the same stack goes further: up to the next such module, or to its
  // end. It is slow, so no thread may be held meanwhile. The target is that of open().
  virtual void make_tables(const Target& target) = 0;
};

}  // namespace labelscope
