// The BPF programs are labelscope's own, but the bytes come from targets. So every number is
// checked.
#include "bpf/wire/task_records.h"

#include <unistd.h>

#include <bit>
#include <cstring>
#include <string>
#include <string_view>

#include "bpf/wire/records.h"
#include "bpf/wire/snapshot_wire.h"

namespace labelscope {
namespace {

Error malformed(const char* what) {
  return {ErrorCode::kMalformed, std::string("a record of the BPF iterators has ") + what};
}

template <class T>
std::optional<T> head_of(std::span<const std::byte> record) {
  if (record.size() < sizeof(T)) return std::nullopt;
  T head;
  std::memcpy(&head, record.data(), sizeof(head));
  return head;
}

// Escapes the newline, which would end the line, as the kernel does in /proc/PID/maps.
std::string as_in_maps(std::string_view path) {
  std::string text;
  for (char c : path) {
    if (c == '\n') {
      text += "\\012";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

// The sources are the kernel's include/linux/sched.h and fs/proc/array.c. These bits have had the
// same meaning since Linux 4.14. TASK_IDLE has a letter of its own. A frozen task, and one that
// waits for a lock in the kernel, count as uninterruptible.
char state_letter(std::uint32_t state, std::uint32_t exit_state) {
  constexpr std::string_view kLetters = "RSDTtXZPI";
  constexpr std::uint32_t kReported = 0x7f;
  constexpr std::uint32_t kUninterruptible = 0x2;
  constexpr std::uint32_t kIdle = 0x402;
  constexpr std::uint32_t kLockOrFrozen = 0x1000 | 0x8000;
  std::uint32_t shown = (state | exit_state) & kReported;
  if ((state & kIdle) == kIdle) return kLetters.back();
  if ((state & kLockOrFrozen) != 0) shown = kUninterruptible;
  return kLetters[static_cast<std::size_t>(std::bit_width(shown))];
}

Result<ThreadRecord> decode_thread(std::span<const std::byte> record, const Meanings& by) {
  const auto head = head_of<ls_thread_head>(record);
  if (!head) return malformed("no thread head");
  auto labels = open_labels(record.subspan(sizeof(*head)));
  if (!labels) return std::move(labels).error();
  ThreadRecord result;
  ThreadSnapshot& thread = result.thread;
  thread.tid = static_cast<Tid>(head->tid);
  const char* comm = reinterpret_cast<const char*>(head->comm);
  thread.name.assign(comm, strnlen(comm, sizeof(head->comm)));
  thread.state = state_letter(head->state, head->exit_state);
  if (head->thread_pointer != 0) thread.thread_pointer = head->thread_pointer;
  thread.seen = observation_of(*labels, by);
  thread.ran = head->ran != 0;
  result.labels = *labels;
  result.pointer_lags = head->pointer_lags != 0;
  result.ended = head->no_memory != 0 || head->exit_state != 0;
  return result;
}

Result<std::span<const std::byte>> decode_bytes(std::span<const std::byte> record,
                                                std::size_t size) {
  const auto head = head_of<ls_bytes_head>(record);
  if (!head) return malformed("no head");
  if (head->error != 0) return Error{ErrorCode::kUnreadable, "memory that is not mapped"};
  const auto bytes = record.subspan(sizeof(*head));
  if (bytes.size() < size) return malformed("too few bytes");
  return bytes.first(size);
}

Result<Mapping> decode_mapping(std::span<const std::byte> record) {
  const auto head = head_of<ls_mapping_head>(record);
  if (!head) return malformed("no mapping head");
  const auto rest = record.subspan(sizeof(*head));
  if (head->path_size > rest.size()) return malformed("a path that does not fit");
  if (head->start >= head->end) return malformed("an impossible mapping");
  Mapping mapping;
  mapping.start = head->start;
  mapping.end = head->end;
  mapping.file_offset =
      head->inode == 0 ? 0 : head->page_offset * static_cast<std::uint64_t>(getpagesize());
  mapping.readable = (head->flags & LS_MAPPING_READABLE) != 0;
  mapping.writable = (head->flags & LS_MAPPING_WRITABLE) != 0;
  mapping.executable = (head->flags & LS_MAPPING_EXECUTABLE) != 0;
  mapping.file = {head->device >> 20, head->device & 0xfffff, head->inode};
  mapping.path = as_in_maps({reinterpret_cast<const char*>(rest.data()), head->path_size});
  return mapping;
}

}  // namespace labelscope
