#include "cli/profile/mapped_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

#include "elf/regular_file.h"

namespace labelscope::cli {
namespace {

// This part of the limit on open files is for sampled files. The rest is for the events and maps of
// BPF, for threads (thread_list.h), and for what is open only for a moment.
constexpr std::size_t kShare = 4;
constexpr std::size_t kFewest = 16;
// No recording has samples in so many files. The kernel's memory and ours need a bound, too.
constexpr std::size_t kMostFiles = 16384;
// The part of the sampled files that may be ready: a program and its libraries, a few times.
constexpr std::size_t kReadyShare = 4;
constexpr std::size_t kMostReady = 1024;
// A file of a linker has one or two segments with code.
constexpr std::size_t kMostSegments = 64;

// Opens the file by its name, after the process has ended. Fails if it is not the file that was
// mapped.
Result<UniqueFd> open_by_name(const Mapping& mapping) {
  // Files of a core have numbers that the core's reader made up, and device 0:0.
  if (mapping.file.major == 0 && mapping.file.minor == 0) {
    return Error{ErrorCode::kNotFound, mapping.path + " is not a file of this system"};
  }
  auto fd = open_regular_file(mapping.path);
  if (!fd) return Error{fd.error().code, mapping.path + " " + fd.error().context};
  struct stat found {};
  if (::fstat(fd->get(), &found) != 0 || found.st_ino != mapping.file.inode) {
    return Error{ErrorCode::kNotFound, mapping.path + " is another file now"};
  }
  return fd;
}

Result<ElfImage> open_image(const UniqueFd& file) {
  int copy = ::fcntl(file.get(), F_DUPFD_CLOEXEC, 3);
  if (copy < 0) return system_error(errno, "dup");
  return ElfImage::open(UniqueFd(copy));
}

// Opens the file through the process, as long as that exists. Another process may have its number
// by now, with another file at that place, so the inode is compared.
Result<UniqueFd> open_mapped(const Mapping& mapping, const FindProcess& find_process) {
  const Target* process = find_process ? find_process() : nullptr;
  if (process == nullptr) return open_by_name(mapping);
  auto fd = process->open_file(mapping);
  struct stat found {};
  // In a core the inode numbers are made up; the core's reader has checked the file's build ID.
  if (fd && (!process->is_alive() ||
             (::fstat(fd->get(), &found) == 0 && found.st_ino == mapping.file.inode))) {
    return fd;
  }
  auto by_name = open_by_name(mapping);  // the process has just ended
  return by_name || fd ? std::move(by_name) : std::move(fd);
}

// Hashes the start of a file, where its segments and its build ID are, and its end, where a linker
// puts the names of symbols and the headers of sections. Returns 0 if it cannot be read.
std::uint64_t fingerprint_of(const UniqueFd& file) {
  constexpr off_t kStart = 4096;
  constexpr off_t kEnd = off_t{128} << 10;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return 0;
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, of words
  std::vector<std::uint64_t> words(static_cast<std::size_t>(kEnd) / sizeof(std::uint64_t));
  for (const auto& [at, size] :
       {std::pair{off_t{0}, kStart}, {std::max(status.st_size - kEnd, off_t{0}), kEnd}}) {
    std::ranges::fill(words, 0);
    const auto got = ::pread(file.get(), words.data(), static_cast<std::size_t>(size), at);
    if (got < 0) return 0;
    const std::size_t count = (static_cast<std::size_t>(got) + 7) / sizeof(std::uint64_t);
    for (std::size_t i = 0; i < count; ++i) hash = (hash ^ words[i]) * 0x100000001b3;
  }
  return std::max<std::uint64_t>(hash, 1);
}

FileState state_of(const UniqueFd& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 ? FileState::of(status) : FileState();
}

}  // namespace

FileState FileState::of(const struct stat& status) {
  return {status.st_ctim.tv_sec,  status.st_ctim.tv_nsec, status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec, status.st_size,         0};
}

bool FileState::is_outdated(const UniqueFd& file) const {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return false;
  const FileState now = of(status);
  if (!*this || now.has_bytes_of(*this)) return false;
  return fingerprint == 0 || now.size != size || fingerprint_of(file) != fingerprint;
}

bool FileState::has_bytes_of(const FileState& then) const {
  if (is_same_time(then)) return true;
  return std::tie(modified_s, modified_ns, size) ==
         std::tie(then.modified_s, then.modified_ns, then.size);
}

MappedFiles::MappedFiles(std::size_t most) : most_(most) {}

std::size_t MappedFiles::own_share() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kFewest;
  return std::clamp(static_cast<std::size_t>(limit.rlim_cur) / kShare, kFewest, kMostFiles);
}

MappedFiles::File MappedFiles::open_file(const Mapping& mapping, const FindProcess& process) {
  File opened;
  auto fd = open_mapped(mapping, process);
  if (!fd) {
    opened.problem = "the file could not be opened: " + fd.error().context;
    return opened;
  }
  opened.file = std::make_shared<OpenModuleFile>(*std::move(fd));
  if (const Target* target = process ? process() : nullptr) opened.file->root = roots_.of(*target);
  opened.state = state_of(*opened.file);
  if (auto image = open_image(*opened.file)) {
    opened.is_elf = true;
    opened.build_id = image->build_id();
    if (!opened.build_id.empty()) opened.state.fingerprint = fingerprint_of(*opened.file);
    for (const LoadSegment& segment : image->load_segments()) {
      if (segment.executable && opened.code.size() < kMostSegments) opened.code.push_back(segment);
    }
  }
  return opened;
}

// The one that was changed last of those that are open.
const MappedFiles::File* MappedFiles::held(const FileId& file) const {
  const File* last = nullptr;
  const Key first = key_of(file, {.changed_s = INT64_MIN});
  const auto consider = [&](const File& each) {
    if (each.file == nullptr || !each.file->valid()) return;
    if (last == nullptr || std::tie(last->state.changed_s, last->state.changed_ns) <
                               std::tie(each.state.changed_s, each.state.changed_ns)) {
      last = &each;
    }
  };
  for (auto at = ready_.lower_bound(first); at != ready_.end() && std::get<0>(at->first) == file;
       ++at) {
    consider(at->second);
  }
  for (auto at = taken_.lower_bound(first); at != taken_.end() && std::get<0>(at->first) == file;
       ++at) {
    consider(at->second.file);
  }
  return last;
}

MappedFiles::Ready MappedFiles::make_ready(const Mapping& mapping, const FindProcess& process) {
  if (const File* known = held(mapping.file)) {
    // The inode is the same, so the open descriptor shows whether it was written anew.
    const FileState now = state_of(*known->file);
    if (now.has_bytes_of(known->state)) return {false, known->state};
  }
  File opened = open_file(mapping, process);
  if (opened.file == nullptr) return {};  // it is tried once more when it is sampled
  const FileState state = opened.state;
  const Key key = key_of(mapping.file, state);
  ready_.insert_or_assign(key, std::move(opened));
  ready_order_.push_back(key);
  while (ready_order_.size() > std::min(most_ / kReadyShare, kMostReady)) {
    ready_.erase(ready_order_.front());
    ready_order_.pop_front();
  }
  return {true, state};
}

const MappedFiles::File& MappedFiles::take(const Mapping& mapping, FileState mapped,
                                           const FindProcess& process, Family family) {
  if (!mapped) {
    // Nobody has looked at it yet. What could not be opened may be open to another process that has
    // mapped it.
    const File* known = held(mapping.file);
    const bool same = known != nullptr && state_of(*known->file).has_bytes_of(known->state);
    if (same) mapped = known->state;
  }
  auto [entry, fresh] = taken_.try_emplace(key_of(mapping.file, mapped));
  Taken& taken = entry->second;
  if (!fresh && (taken.file.file != nullptr || taken.refused)) return taken.file;
  taken.family = family;
  taken.refused = !make_room(family);
  if (taken.refused) {
    taken.file.problem = given_up_text();
    return taken.file;
  }
  if (auto ready = ready_.extract(entry->first)) {
    taken.file = std::move(ready.mapped());
  } else {
    taken.file = open_file(mapping, process);
    // What was mapped counts, not what is there now: ModuleTable compares at the end.
    if (mapped) {
      if (!taken.file.state.has_bytes_of(mapped)) taken.file.build_id.clear();
      taken.file.state = mapped;
    }
  }
  if (taken.file.file != nullptr) {
    open_of_[family].push_back(entry->first);
    ++open_;
  }
  return taken.file;
}

// Returns false if no family has more files than this one.
bool MappedFiles::make_room(Family family) {
  if (open_ < most_) return true;
  const auto largest = std::max_element(
      open_of_.begin(), open_of_.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  const auto own = open_of_.find(family);
  const std::size_t has = own == open_of_.end() ? 0 : own->second.size();
  if (largest == open_of_.end() || largest->second.size() <= has + 1) return false;
  give_up_one(largest->first);
  return true;
}

void MappedFiles::give_up_one(Family family) {
  std::vector<Key>& files = open_of_[family];
  taken_[files.back()].file.file->reset();  // all modules that share it see that
  files.pop_back();
  --open_;
}

void MappedFiles::forget_unused() {
  std::erase_if(taken_, [](const auto& entry) {
    const Taken& taken = entry.second;
    return taken.refused || taken.file.file == nullptr || taken.file.file.use_count() == 1;
  });
  open_ = 0;
  for (auto& [family, keys] : open_of_) {
    std::erase_if(keys, [&](const Key& key) { return !taken_.contains(key); });
    open_ += keys.size();
  }
  std::erase_if(open_of_, [](const auto& entry) { return entry.second.empty(); });
}

std::string MappedFiles::given_up_text() const {
  return "too many files have samples to keep all open (" + std::to_string(most_) +
         " are kept, a quarter of the limit that ulimit -n raises)";
}

}  // namespace labelscope::cli
