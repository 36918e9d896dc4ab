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
// A family is a process and what it forks, so that forking gains no room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/profile/profile.h"
#include "elf/elf_image.h"
#include "labelscope/mapping.h"
#include "labelscope/target.h"

namespace labelscope::cli {

using Family = std::uint32_t;
// Called only if a file must be opened. If it is empty or returns null, the process is gone, and
// the file is opened by its name if it is still the same.
using FindProcess = std::function<const Target*()>;

class MappedFiles {
 public:
  struct File {
    ModuleFile file;  // null if it could not be opened; invalid if it was given up
    std::string build_id;
    std::string problem;
    std::vector<LoadSegment> code;  // the executable segments; empty if it is no ELF file
  };

  // At most `most` sampled files are open at the same time.
  explicit MappedFiles(std::size_t most = own_share());
  // The part of the limit on open files that they may take.
  static std::size_t own_share();

  // Returns false if it is open already, or cannot be opened.
  bool make_ready(const Mapping& mapping, const FindProcess& process);
  const File& take(const Mapping& mapping, const FindProcess& process, Family family);

  // Why a file that was given up has no names.
  std::string given_up_text() const;

 private:
  struct Taken {
    File file;
    Family family = 0;
    bool refused = false;  // because there was no room
  };
  bool make_room(Family family);
  void give_up_one(Family family);

  std::size_t most_;
  std::map<FileId, File> ready_;
  std::deque<FileId> ready_order_;  // order of ready_, and of some that have moved to taken_
  std::map<FileId, Taken> taken_;
  std::map<Family, std::vector<FileId>> open_of_;  // those in taken_ that are open, oldest first
  std::size_t open_ = 0;
};

}  // namespace labelscope::cli
