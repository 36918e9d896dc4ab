// CoreFile puts headers, notes, memory and files of a dead process together.
#include "labelscope/core_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "core/core_layout.h"
#include "core/core_link_map.h"
#include "core/core_memory.h"
#include "core/core_notes.h"
#include "core/file_finder.h"
#include "core/lost_thread_pointers.h"
#include "core/process_files.h"

namespace labelscope {

class CoreFile::Impl {
 public:
  static Result<std::unique_ptr<Impl>> open(const std::string& path, const CoreOptions& options);

  Status read_notes();
  void find_files(const CoreOptions& options);
  std::vector<Mapping> list_mappings() const;
  bool is_executable(std::size_t range) const;

  LoadedFile file;
  std::uint64_t size = 0;
  FileId identity;
  CoreLayout layout;
  CoreNotes notes;
  std::optional<DumpedMemory> dumped;
  std::optional<ProcessFiles> files;
  std::optional<CoreMemory> memory;
  std::vector<CoreFileProblem> problems;
};

namespace {

Error prefixed(const std::string& path, Error error) {
  error.context = path + ": " + error.context;
  return error;
}

std::string missing_bytes(std::uint64_t expected, std::uint64_t size) {
  return "it is cut short: it has " + std::to_string(size) + " of " + std::to_string(expected) +
         " bytes";
}

constexpr const char* kNoteTooLong =
    "a note is longer than the notes are: what they hold behind it, such as threads, is lost";

}  // namespace

Result<std::unique_ptr<CoreFile::Impl>> CoreFile::Impl::open(const std::string& path,
                                                             const CoreOptions& options) {
  auto impl = std::make_unique<Impl>();
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return system_error(errno, path);
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorCode::kUnsupported,
                 path + ": not a regular file; a core file is read here and there, not in a row"};
  }
  impl->file.fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!impl->file.fd.valid() || ::fstat(impl->file.fd.get(), &status) != 0) {
    return system_error(errno, path);
  }
  impl->size = static_cast<std::uint64_t>(status.st_size);
  // Files of the process get inode numbers of their own; the core's device and inode stand in place
  // of a device number.
  impl->identity = {static_cast<std::uint32_t>(status.st_dev),
                    static_cast<std::uint32_t>(status.st_ino), 0};
  auto layout = read_core_layout(impl->file, impl->size);
  if (!layout) return prefixed(path, std::move(layout).error());
  impl->layout = *std::move(layout);
  if (Status read = impl->read_notes(); !read) return prefixed(path, std::move(read).error());
  impl->find_files(options);
  if (impl->layout.machine == Machine::kX86_64) {
    find_lost_thread_pointers(impl->layout.segments, *impl->dumped, impl->notes.threads);
  }
  return impl;
}

Status CoreFile::Impl::read_notes() {
  for (const NoteRange& range : layout.notes) {
    Status status = read_core_notes(file, range, layout.machine, notes);
    if (!status) return status;
  }
  // The core has one name for all threads, that of the first thread.
  for (CoreThread& thread : notes.threads) {
    if (notes.pid && raw(thread.tid) == raw(*notes.pid)) thread.name = notes.comm;
  }
  if (!notes.threads.empty()) return {};
  if (size < layout.expected_size) {
    return Error{ErrorCode::kMalformed,
                 missing_bytes(layout.expected_size, size) + ", and its threads are missing"};
  }
  return Error{ErrorCode::kMalformed,
               notes.cut ? kNoteTooLong : "it has no threads (no NT_PRSTATUS notes)"};
}

void CoreFile::Impl::find_files(const CoreOptions& options) {
  dumped.emplace(file, layout.segments, layout.machine);
  FileFinder finder(options);
  if (notes.files.empty()) {
    LinkedFiles linked = list_linked_files(notes, *dumped, layout.machine, finder);
    notes.files = std::move(linked.ranges);
    problems = std::move(linked.problems);
    if (notes.files.empty() && problems.empty()) {
      problems.push_back({{},
                          {},
                          "the core has neither a table of mapped files (NT_FILE) nor an "
                          "auxiliary vector: which files it ran is not known",
                          false});
    }
  }
  if (notes.cut && size >= layout.expected_size) problems.push_back({{}, {}, kNoteTooLong, false});
  files.emplace(std::move(notes.files), *dumped, layout.machine, std::move(finder), notes);
  memory.emplace(*dumped, *files);
}

// Debuggers write no segment for memory that they leave out, so it is unknown whether it was
// executable: then every file that may be an ELF file is taken for one.
bool CoreFile::Impl::is_executable(std::size_t range) const {
  const FileRange& one = files->ranges()[range];
  const CoreSegment* segment = find_segment(layout.segments, one.start);
  if (segment != nullptr) return segment->executable;
  return files->may_be_elf(one.file);
}

std::vector<Mapping> CoreFile::Impl::list_mappings() const {
  std::vector<Mapping> mappings;
  const std::vector<FileRange>& ranges = files->ranges();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const FileRange& range = ranges[i];
    const CoreSegment* segment = find_segment(layout.segments, range.start);
    Mapping mapping;
    mapping.start = range.start;
    mapping.end = range.end;
    mapping.file_offset = range.file_offset;
    mapping.readable = segment == nullptr || segment->readable;
    mapping.writable = segment != nullptr && segment->writable;
    mapping.executable = is_executable(i);
    mapping.file = identity;
    mapping.file.inode = range.file + 1;
    mapping.path = files->path(range.file);
    mappings.push_back(std::move(mapping));
  }
  for (const CoreSegment& segment : layout.segments) {
    if (files->range_of(segment.start) != nullptr) continue;
    Mapping mapping;
    mapping.start = segment.start;
    mapping.end = segment.end;
    mapping.readable = segment.readable;
    mapping.writable = segment.writable;
    mapping.executable = segment.executable;
    if (notes.vdso == segment.start) mapping.path = "[vdso]";
    mappings.push_back(std::move(mapping));
  }
  std::ranges::sort(mappings, {}, &Mapping::start);
  return mappings;
}

CoreFile::CoreFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CoreFile::~CoreFile() = default;

Result<std::unique_ptr<CoreFile>> CoreFile::open(const std::string& path,
                                                 const CoreOptions& options) {
  auto impl = Impl::open(path, options);
  if (!impl) return std::move(impl).error();
  return std::unique_ptr<CoreFile>(new CoreFile(*std::move(impl)));
}

Result<std::vector<Mapping>> CoreFile::mappings() const { return impl_->list_mappings(); }

Result<UniqueFd> CoreFile::open_file(const Mapping& mapping) const {
  const FileRange* range = impl_->files->range_of(mapping.start);
  if (!mapping.file || range == nullptr) {
    return Error{ErrorCode::kNotFound, "no file behind this mapping"};
  }
  return impl_->files->open(range->file);
}

const MemorySource& CoreFile::memory() const { return *impl_->memory; }
std::optional<Address> CoreFile::program_headers_address() const {
  return impl_->notes.program_headers;
}
Machine CoreFile::machine() const { return impl_->layout.machine; }
Pid CoreFile::pid() const {
  const CoreNotes& notes = impl_->notes;
  return notes.pid.value_or(Pid{raw(notes.threads.front().tid)});
}
std::string CoreFile::comm() const { return impl_->notes.comm; }
std::string CoreFile::command_line() const { return impl_->notes.command_line; }
const std::vector<CoreThread>& CoreFile::threads() const { return impl_->notes.threads; }
bool CoreFile::truncated() const { return impl_->size < impl_->layout.expected_size; }

std::vector<CoreFileProblem> CoreFile::problems() const {
  std::vector<CoreFileProblem> all = impl_->problems;
  std::vector<CoreFileProblem> found = impl_->files->problems();
  all.insert(all.end(), std::make_move_iterator(found.begin()),
             std::make_move_iterator(found.end()));
  return all;
}

}  // namespace labelscope
