// The files behind mapped code, held open so that names can be taken from them when their process
// has ended, or the file was replaced.
//
// The problem: a process may map more files than labelscope may open, and new ones without end. If
// each stayed open, there would be no descriptor for the next process. So there are two tables,
// both bounded, and the rest of the limit (RLIMIT_NOFILE) is for planning:
//
//   mapped          ready_   the files that were mapped last; the first in goes out. A process that
//     |                      ends before its first sample is processed still has its names.
//     | first sample
//     v
//   sampled         taken_   stays until names are given. When it is full, the family with the most
//                            files gives up its newest one for another family with fewer.
//
// A family is a process and what it forks: so forking gives nobody more room.
//
// A build may write a file anew in place: the same inode, other code. So a file here is an inode
// and the time of its last change. What ran before the change keeps only the names that were found
// before it (early_names.h), unless the file has the same bytes as far as its build ID, size,
// headers and symbols show that. A build ID alone does not: builds may be given one.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cli/profile/process_root.h"
#include "cli/profile/profile.h"
#include "elf/elf_image.h"
#include "labelscope/mapping.h"
#include "labelscope/target.h"

namespace labelscope::cli {

using Family = std::uint32_t;
// Called only if a file must be opened. If it is empty or returns null, the process is gone, and
// the file is opened by its name if it is still the same.
using FindProcess = std::function<const Target*()>;

// An inode at one time.
struct FileState {
  // By the kernel's account (ctime): an owner may give a file any mtime. Nothing: not known.
  std::int64_t changed_s = 0;
  std::int64_t changed_ns = 0;
  std::int64_t modified_s = 0;
  std::int64_t modified_ns = 0;
  std::int64_t size = 0;
  // Of a file with a build ID: of bytes that are others in another build. 0: not known.
  std::uint64_t fingerprint = 0;

  static FileState of(const struct stat& status);
  explicit operator bool() const { return changed_s != 0 || changed_ns != 0; }
  // Returns whether the file has the same bytes at another time, as far as its size and mtime show
  // it. The kernel also changes ctime when a file is removed or renamed, or gets another mode.
  bool has_bytes_of(const FileState& then) const;
  // Returns whether the open file has other bytes now.
  bool is_outdated(const UniqueFd& file) const;
  bool is_same_time(const FileState& other) const {
    return changed_s == other.changed_s && changed_ns == other.changed_ns;
  }
};

class MappedFiles {
 public:
  struct File {
    ModuleFile file;  // null if it could not be opened; invalid if it was given up
    std::string build_id;
    std::string problem;
    std::vector<LoadSegment> code;  // the executable segments; empty if it is no ELF file
    bool is_elf = false;
    FileState state;  // when it was opened
  };

  // At most `most` sampled files are open at the same time.
  explicit MappedFiles(std::size_t most = own_share());
  // Returns the part of the limit on open files that they may take.
  static std::size_t own_share();

  struct Ready {
    bool opened = false;  // and not before
    FileState state;      // nothing: it cannot be opened
  };
  // Of the file as it is now.
  Ready make_ready(const Mapping& mapping, const FindProcess& process);
  // `mapped`: its state when it was mapped, or nothing.
  const File& take(const Mapping& mapping, FileState mapped, const FindProcess& process,
                   Family family);

  // Closes sampled files that nobody else has any more, and forgets those that were refused.
  void forget_unused();

  // Returns why a file that was given up has no names.
  std::string given_up_text() const;

 private:
  // A file, and when it was changed last.
  using Key = std::tuple<FileId, std::int64_t, std::int64_t>;
  static Key key_of(const FileId& file, const FileState& state) {
    return {file, state.changed_s, state.changed_ns};
  }
  struct Taken {
    File file;
    Family family = 0;
    bool refused = false;  // because there was no room
  };
  const File* held(const FileId& file) const;
  bool make_room(Family family);
  void give_up_one(Family family);

  File open_file(const Mapping& mapping, const FindProcess& process);

  std::size_t most_;
  ProcessRoots roots_;
  std::map<Key, File> ready_;
  std::deque<Key> ready_order_;  // order of ready_, and of some that have moved to taken_
  std::map<Key, Taken> taken_;
  std::map<Family, std::vector<Key>> open_of_;  // those in taken_ that are open, oldest first
  std::size_t open_ = 0;
};

}  // namespace labelscope::cli
