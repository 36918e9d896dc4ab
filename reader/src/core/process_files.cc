// This decides whether a file that was found is the one that the process ran:
//
//   the core has its build ID         the build ID decides
//   else: its first page was dumped   the first page decides
//   else                              its segments must be where the process had them, and a
//                                     problem says that no better check was possible
#include "core/process_files.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "base/pages.h"
#include "elf/elf_image.h"
#include "elf/foreign_file.h"
#include "process/loaded_headers.h"

namespace labelscope {
namespace {

Error refused(std::string why) { return Error{ErrorCode::kNotFound, std::move(why)}; }

UniqueFd duplicate(const UniqueFd& fd) { return UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }

bool holds_offset(const ElfImage& image, std::uint64_t offset) {
  const auto& loads = image.load_segments();
  return std::ranges::any_of(loads, [&](const LoadSegment& load) {
    return offset >= page_down(load.file_offset) &&
           offset < page_up(load.file_offset + load.file_size);
  });
}

// Returns whether the core has a stack. Every stack was written to. So if one is there, the kernel
// has dumped private memory (coredump_filter), and has left out only mappings to which nothing was
// ever written.
bool has_stack(const DumpedMemory& dumped, const CoreNotes& notes) {
  return std::ranges::any_of(notes.threads, [&](const CoreThread& thread) {
    return dumped.dumped_from(thread.registers.stack_pointer()) != 0;
  });
}

}  // namespace

ProcessFiles::ProcessFiles(std::vector<MappedRange> table, const DumpedMemory& dumped,
                           Machine machine, FileFinder finder, const CoreNotes& notes)
    : dumped_(dumped),
      machine_(machine),
      has_written_memory_(has_stack(dumped, notes)),
      entry_(notes.entry),
      finder_(std::move(finder)) {
  std::ranges::stable_sort(table, {}, &MappedRange::start);
  std::map<std::string, std::size_t> known;
  for (MappedRange& range : table) {
    // An honest table has no overlaps.
    if (range.start >= range.end || (!ranges_.empty() && range.start < ranges_.back().end))
      continue;
    const auto [entry, is_new] = known.try_emplace(std::move(range.path), files_.size());
    if (is_new) files_.push_back({entry->first, {}, {}, {}, {}, {}});
    File& file = files_[entry->second];
    file.ranges.push_back(ranges_.size());
    if (range.file_offset == 0 && !file.first_page && dumped_.dumped_from(range.start) != 0) {
      file.first_page = range.start;
    }
    ranges_.push_back({range.start, range.end, range.file_offset, entry->second});
  }
  if (!notes.program_headers) return;
  if (const FileRange* range = range_of(*notes.program_headers)) main_executable_ = range->file;
}

const FileRange* ProcessFiles::range_of(Address address) const {
  auto after = std::ranges::upper_bound(ranges_, address, {}, &FileRange::start);
  if (after == ranges_.begin()) return nullptr;
  const FileRange& candidate = *std::prev(after);
  return address < candidate.end ? &candidate : nullptr;
}

// Call this with the mutex held. If nothing was dumped, the file may be an ELF file, and its build
// ID is not known.
const LoadedHeaders& ProcessFiles::headers_of(File& file) const {
  if (file.headers) return *file.headers;
  file.headers = LoadedHeaders{true, {}};
  if (!file.first_page) return *file.headers;
  auto headers = read_loaded_headers(dumped_, *file.first_page);
  if (headers) file.headers = *std::move(headers);
  return *file.headers;
}

bool ProcessFiles::may_be_elf(std::size_t file) const {
  const std::lock_guard lock(mutex_);
  return headers_of(files_[file]).is_elf;
}

Status ProcessFiles::check_placement(const File& file, const ElfImage& image,
                                     const UniqueFd& fd) const {
  for (const std::size_t index : file.ranges) {
    if (!holds_offset(image, ranges_[index].file_offset)) {
      return refused("is another version: its segments are not those that were mapped");
    }
  }
  const bool main = main_executable_ && &files_[*main_executable_] == &file;
  const auto header = read_value<Elf64_Ehdr>(fd, 0);
  if (!main || !entry_ || !header) return {};
  const FileRange* range = range_of(*entry_);
  if (range == nullptr || range->file != *main_executable_) {
    return refused("is another program: its entry point is not where the process began");
  }
  const std::uint64_t offset = range->file_offset + (*entry_ - range->start);
  const auto& loads = image.load_segments();
  const bool same = std::ranges::any_of(loads, [&](const LoadSegment& load) {
    return header->e_entry >= load.vaddr &&
           header->e_entry - load.vaddr + load.file_offset == offset;
  });
  if (same) return {};
  return refused("is another program: its entry point is not where the process began");
}

Result<ProcessFiles::Proof> ProcessFiles::check(const File& file, const std::string& build_id,
                                                const UniqueFd& fd) const {
  auto image = ElfImage::open(duplicate(fd));
  if (!image) return refused("cannot be used: " + image.error().context);
  if (image->machine() != machine_) return refused("is of another machine");
  if (!build_id.empty()) {
    const std::string other = image->build_id();
    if (other != build_id) {
      return refused(other.empty() ? "has no build ID" : "has another build ID, " + other);
    }
  }
  if (has_only_debug_information(fd)) return refused("has only debug information, no code");
  if (!build_id.empty()) return Proof::kContent;
  if (const auto start = file.first_page) {
    std::array<std::byte, kPage> mapped{};
    std::array<std::byte, kPage> found{};
    const std::size_t size = std::min<std::uint64_t>(kPage, dumped_.dumped_from(*start));
    if (dumped_.read(*start, std::span(mapped).first(size))) {
      // A file may be shorter than a page; the rest of the page is zero then.
      struct stat status {};
      if (::fstat(fd.get(), &status) != 0) return refused("cannot be read");
      const std::size_t there = std::min<std::uint64_t>(
          size, static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0)));
      if (!read_fully(fd, 0, std::span(found).first(there)) || found != mapped) {
        return refused("is another version: its first page differs from the one in the core");
      }
      return Proof::kContent;
    }
  }
  Status placed = check_placement(file, *image, fd);
  if (!placed) return std::move(placed).error();
  return Proof::kNone;
}

// Call this with the mutex held. Memory that becomes read-only after relocation counts as written:
// the loader writes to it.
bool ProcessFiles::may_be_written(const FileRange& range, Address address, std::size_t size) const {
  const File& file = files_[range.file];
  if (file.segments.empty()) return false;
  const LoadSegment& first = *std::ranges::min_element(file.segments, {}, &LoadSegment::vaddr);
  // This is the start of the copy that the range belongs to: the file may be loaded twice.
  const FileRange* start = nullptr;
  for (const std::size_t index : file.ranges) {
    const FileRange& one = ranges_[index];
    if (one.start <= range.start && one.file_offset == page_down(first.file_offset)) start = &one;
  }
  if (start == nullptr) return false;
  const Address bias = start->start - page_down(first.vaddr);
  return std::ranges::any_of(file.segments, [&](const LoadSegment& load) {
    return load.writable && address < bias + page_up(load.vaddr + load.memory_size) &&
           address + size > bias + page_down(load.vaddr);
  });
}

// Call this with the mutex held.
const UniqueFd* ProcessFiles::find(std::size_t index, Error& why) const {
  File& file = files_[index];
  if (!file.found) {
    const std::string& build_id = headers_of(file).build_id;
    if (!headers_of(file).is_elf) {
      file.found = Error{ErrorCode::kMalformed, "not an ELF file"};
    } else {
      Proof proof = Proof::kNone;
      const WantedFile wanted{file.path, build_id, main_executable_ == index};
      file.found = finder_.find(wanted, [&](const UniqueFd& fd) -> Status {
        auto checked = check(file, build_id, fd);
        if (!checked) return std::move(checked).error();
        proof = *checked;
        return {};
      });
      if (*file.found) {
        auto image = ElfImage::open(duplicate(**file.found));
        if (image) file.segments = image->load_segments();
      }
      const std::string id = build_id.empty() ? "" : "build ID " + build_id + ": ";
      if (!*file.found) {
        file.found = Error{ErrorCode::kNotFound, id + file.found->error().context};
        problems_.push_back({file.path, build_id, file.found->error().context, false});
      } else if (proof == Proof::kNone) {
        problems_.push_back({file.path, build_id,
                             "not verified: the core has neither its build ID nor its first page",
                             true});
      }
    }
  }
  if (*file.found) return &**file.found;
  why = file.found->error();
  return nullptr;
}

Result<UniqueFd> ProcessFiles::open(std::size_t file) const {
  const std::lock_guard lock(mutex_);
  Error why;
  const UniqueFd* fd = find(file, why);
  if (fd == nullptr) return why;
  UniqueFd copy = duplicate(*fd);
  if (!copy.valid()) return system_error(errno, files_[file].path);
  return copy;
}

Status ProcessFiles::read(const FileRange& range, Address address, std::span<std::byte> out) const {
  const std::lock_guard lock(mutex_);
  Error why;
  const UniqueFd* fd = find(range.file, why);
  if (fd == nullptr) {
    return Error{ErrorCode::kUnreadable,
                 "memory that is in a file: " + files_[range.file].path + ": " + why.context};
  }
  if (!has_written_memory_ && may_be_written(range, address, out.size())) {
    return Error{
        ErrorCode::kUnreadable,
        "memory that the process could write to, and that was not dumped (coredump_filter): " +
            files_[range.file].path + " has only what it began with"};
  }
  if (read_fully(*fd, range.file_offset + (address - range.start), out)) return {};
  return Error{ErrorCode::kUnreadable, "memory beyond the end of its file"};
}

std::vector<CoreFileProblem> ProcessFiles::problems() const {
  const std::lock_guard lock(mutex_);
  return problems_;
}

}  // namespace labelscope
