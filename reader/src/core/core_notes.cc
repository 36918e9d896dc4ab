// This reads notes one by one, and skips most: a core of ten thousand threads has hundreds of
// megabytes of vector registers in its notes, which are not needed here.
#include "core/core_notes.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/malformed.h"
#include "base/value_at.h"
#include "elf/elf_note.h"
#include "process/proc_fs.h"
#include "ptrace/register_set.h"

namespace labelscope {
namespace {

// The kernel's own limit on the number of threads in a system.
constexpr std::size_t kMaxThreads = 4 << 20;
// There are a dozen notes for each thread. A sparse file could have any number of empty notes.
constexpr std::size_t kMaxNotes = 16 * kMaxThreads;
// The kernel writes at most 16 MiB (core_file_note_size_limit).
constexpr std::uint64_t kMaxFileTable = 64 << 20;
// The other notes have a few hundred bytes.
constexpr std::uint64_t kMaxContent = 64 << 10;

// These are offsets in struct elf_prstatus, up to the registers.
constexpr std::size_t kCurrentSignal = 12;
constexpr std::size_t kThreadId = 32;
constexpr std::size_t kRegisters = 112;
// These are offsets in struct elf_prpsinfo.
constexpr std::size_t kProcessId = 24;
constexpr std::size_t kName = 40;
constexpr std::size_t kNameSize = 15;  // gdb fills the sixteenth byte too
constexpr std::size_t kArguments = 56;
constexpr std::size_t kArgumentsSize = 80;

// Returns the text up to the zero byte, if there is one.
std::string text_at(std::span<const std::byte> content, std::size_t offset, std::size_t size) {
  std::string text(size, '\0');
  std::memcpy(text.data(), content.data() + offset, size);
  text.resize(std::min(text.find('\0'), size));
  return text;
}

enum class Owner { kCore, kLinux, kOther };

// The names are "CORE" and "LINUX", each with a zero byte that not every writer counts.
Owner owner_of(std::string_view name) {
  name = name.substr(0, name.find('\0'));
  return name == "CORE" ? Owner::kCore : name == "LINUX" ? Owner::kLinux : Owner::kOther;
}

class NoteWalk {
 public:
  NoteWalk(const LoadedFile& file, const NoteRange& range, Machine machine, CoreNotes& notes)
      : file_(file), range_(range), machine_(machine), notes_(notes) {}

  Status walk() {
    std::uint64_t at = 0;
    while (range_.size - at >= sizeof(Elf64_Nhdr)) {
      // Counts the notes of all ranges: many ranges may be the same bytes.
      if (++notes_.count > kMaxNotes) return Error{ErrorCode::kLimit, "its notes do not end"};
      // Reads header and owner's name at once. The names that matter have 6 bytes at most.
      std::array<std::byte, sizeof(Elf64_Nhdr) + 8> head{};
      const std::size_t head_size = std::min<std::uint64_t>(head.size(), range_.size - at);
      if (!read_head(at, std::span(head).first(head_size))) return end_early();
      const auto header = value_at<Elf64_Nhdr>(head, 0);
      const auto place = place_note(header, at, range_.size);
      if (!place) return end_early();
      const std::string name(reinterpret_cast<const char*>(head.data() + sizeof header),
                             std::min<std::size_t>(header.n_namesz, 8));
      if (Status status = take(owner_of(name), *place); !status) return status;
      if (place->next >= range_.size || ended_early_) return {};
      at = place->next;
    }
    return {};
  }

 private:
  Status read(std::uint64_t offset, std::span<std::byte> out) const {
    return file_.read_offset(range_.offset + offset, out);
  }
  // Reads the bytes behind it, too, so that small notes do not need a system call each.
  Status read_head(std::uint64_t offset, std::span<std::byte> out) {
    if (offset < window_at_ || offset - window_at_ + out.size() > window_size_) {
      window_at_ = offset;
      window_size_ = std::min<std::uint64_t>(window_.size(), range_.size - offset);
      if (!read(offset, std::span(window_).first(window_size_))) {
        window_size_ = 0;  // the file may end here
        return read(offset, out);
      }
    }
    std::memcpy(out.data(), window_.data() + (offset - window_at_), out.size());
    return {};
  }
  Status end_early() {
    ended_early_ = true;
    notes_.cut = true;
    return {};
  }

  Status take(Owner owner, const NotePlace& place) {
    const bool core = owner == Owner::kCore;
    const bool wanted = (core && (place.type == NT_PRSTATUS || place.type == NT_PRPSINFO ||
                                  place.type == NT_AUXV || place.type == NT_FILE)) ||
                        (owner == Owner::kLinux && place.type == NT_ARM_TLS);
    if (!wanted) return {};
    if (place.content_size > (place.type == NT_FILE ? kMaxFileTable : kMaxContent)) {
      return Error{ErrorCode::kLimit, "a note is impossibly large"};
    }
    std::vector<std::byte> content(place.content_size);
    if (!read(place.content_offset, content)) return end_early();
    return core ? take_core(place.type, content) : take_thread_pointer(content);
  }

  Status take_core(std::uint32_t type, std::span<const std::byte> content) {
    if (type == NT_PRSTATUS) return take_thread(content);
    if (type == NT_PRPSINFO) return decode_prpsinfo(content, notes_);
    if (type == NT_AUXV) {
      decode_auxv(content, notes_);
      return {};
    }
    auto files = decode_file_table(content);
    if (!files) return std::move(files).error();
    notes_.files = *std::move(files);
    return {};
  }

  Status take_thread(std::span<const std::byte> content) {
    if (notes_.threads.size() == kMaxThreads) {
      return Error{ErrorCode::kLimit, "it has more threads than a system can have"};
    }
    auto thread = decode_prstatus(machine_, content);
    if (!thread) return std::move(thread).error();
    notes_.threads.push_back(*std::move(thread));
    return {};
  }

  // The content is {TPIDR_EL0}, or {TPIDR_EL0, TPIDR2_EL0} since the scalable matrix extension.
  Status take_thread_pointer(std::span<const std::byte> content) {
    if (machine_ != Machine::kAarch64 || notes_.threads.empty()) return {};
    if (content.size() < sizeof(Address)) return malformed("an NT_ARM_TLS note is too short");
    notes_.threads.back().thread_pointer = value_at<Address>(content, 0);
    return {};
  }

  const LoadedFile& file_;
  const NoteRange& range_;
  Machine machine_;
  CoreNotes& notes_;
  std::array<std::byte, 1024> window_{};  // bytes of the range that were read last
  std::uint64_t window_at_ = 0;
  std::size_t window_size_ = 0;
  bool ended_early_ = false;  // set if this range is cut; another one may be whole
};

}  // namespace

Status read_core_notes(const LoadedFile& file, const NoteRange& range, Machine machine,
                       CoreNotes& notes) {
  return NoteWalk(file, range, machine, notes).walk();
}

Result<CoreThread> decode_prstatus(Machine machine, std::span<const std::byte> content) {
  if (content.size() < kRegisters) return malformed("an NT_PRSTATUS note is too short");
  auto set = decode_register_set(machine, content.subspan(kRegisters));
  if (!set) return malformed("an NT_PRSTATUS note holds " + set.error().context);
  CoreThread thread;
  thread.tid = Tid{value_at<std::int32_t>(content, kThreadId)};
  thread.signal = value_at<std::int16_t>(content, kCurrentSignal);
  thread.thread_pointer = set->thread_pointer;
  thread.registers = set->registers;
  return thread;
}

Status decode_prpsinfo(std::span<const std::byte> content, CoreNotes& notes) {
  if (content.size() < kArguments + kArgumentsSize) {
    return malformed("the NT_PRPSINFO note is too short");
  }
  notes.pid = Pid{value_at<std::int32_t>(content, kProcessId)};
  notes.comm = text_at(content, kName, kNameSize);
  notes.command_line = text_at(content, kArguments, kArgumentsSize);
  // The kernel puts a space behind every argument.
  while (notes.command_line.ends_with(' ')) notes.command_line.pop_back();
  return {};
}

void decode_auxv(std::span<const std::byte> content, CoreNotes& notes) {
  notes.program_headers = find_auxiliary(content, AT_PHDR);
  notes.entry = find_auxiliary(content, AT_ENTRY);
  notes.executable_name = find_auxiliary(content, AT_EXECFN);
  notes.loader = find_auxiliary(content, AT_BASE);
  notes.vdso = find_auxiliary(content, AT_SYSINFO_EHDR);
}

// The content is {count, page size}, count times {start, end, offset in pages}, and count paths
// that end with zero.
Result<std::vector<MappedRange>> decode_file_table(std::span<const std::byte> content) {
  constexpr std::size_t kHead = 2 * sizeof(std::uint64_t);
  constexpr std::size_t kEntry = 3 * sizeof(std::uint64_t);
  if (content.size() < kHead) return malformed("the table of mapped files (NT_FILE) is too short");
  const auto count = value_at<std::uint64_t>(content, 0);
  const auto page = value_at<std::uint64_t>(content, sizeof count);
  if (count > (content.size() - kHead) / kEntry || page == 0) {
    return malformed("the table of mapped files (NT_FILE) contradicts itself");
  }
  std::string_view paths(reinterpret_cast<const char*>(content.data()), content.size());
  paths.remove_prefix(kHead + count * kEntry);
  std::vector<MappedRange> ranges;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t at = kHead + i * kEntry;
    MappedRange range{value_at<Address>(content, at), value_at<Address>(content, at + 8), 0, {}};
    const auto pages = value_at<std::uint64_t>(content, at + 16);
    const std::size_t length = paths.find('\0');
    if (range.start >= range.end || pages > UINT64_MAX / page || length == paths.npos) {
      return malformed("the table of mapped files (NT_FILE) contradicts itself");
    }
    range.file_offset = pages * page;
    range.path = paths.substr(0, length);
    paths.remove_prefix(length + 1);
    ranges.push_back(std::move(range));
  }
  return ranges;
}

}  // namespace labelscope
