// Names that are found while the recording still runs, so that the user does not wait for them at
// its end.
//
//   recording, each 100 ms                a thread                      worker (file_namer.h)
//     locations that are new,
//     their modules and files  ------->   addresses of each file --->   names, after all
//                                         names by address       <---   other programs
//     the end: finish()        ------->   (ends what it does)
//   symbolize(): file of early names, if it has not changed since; asks it for the rest
//
// Nothing depends on these names: whatever goes wrong here, symbolize() asks again, and gets the
// same answers. (Unless the file was written anew meanwhile: then these are the only names of what
// ran before.) So a file with any remark (something was left out, a debug file was missing) is not
// used, and one that costs a worker its life ends early naming. Names of generated code and of the
// kernel are not looked up here: the former change while the program runs, the latter have a thread
// of their own.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cli/profile/mapped_files.h"
#include "cli/profile/profile.h"
#include "cli/symbol/file_namer.h"

namespace labelscope::cli {

class EarlyNames {
 public:
  using Names = std::unordered_map<Address, std::vector<SourceLine>>;  // by link-time address
  struct File {
    std::unique_ptr<NamedFile> file;
    Names names;
  };

  // `namer` is in use by the thread until finish().
  explicit EarlyNames(FileNamer& namer);
  EarlyNames(const EarlyNames&) = delete;
  EarlyNames& operator=(const EarlyNames&) = delete;
  // Ends the thread, and with it the worker that it has started.
  ~EarlyNames();

  // Looks at what was added to the locations since the last call. It does not wait: if the thread
  // is busy with its tables, it returns false, and the next call takes what is new. `files` is
  // parallel to `modules`, and so is `states`: of these files when they were mapped, if known.
  bool look_at(std::span<const Location> locations, std::span<const ProfileModule> modules,
               std::span<const ModuleFile> files, std::span<const FileState> states = {});
  // The number of addresses whose names are known, and of those for which they are not asked yet.
  std::size_t named() const;
  std::size_t waiting() const;

  // Ends the search. A request that the worker is busy with may take as long again as it has taken
  // so far, unless `cancelled` returns true (it may be empty). Call it before take().
  void finish(const std::function<bool()>& cancelled = {});
  // Hands out the file if names of it are known, it is whole, and it is in the state that it was in
  // when it was opened here; else null.
  std::unique_ptr<File> take(const ModuleFile& file);
  // Returns what is known of a module, as it was when the module was mapped, whatever its file is
  // now; null if nothing is. Call it before take().
  const Names* names_of(Index module) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Wanted {
    ModuleFile file;  // a descriptor of our own: the recording may close its one
    FileKey key;
    std::string path;
    std::vector<Address> addresses;
    File found;
    bool refused = false;
  };
  Wanted* file_of(const ProfileModule& module, const ModuleFile& file, const FileState& mapped);
  void run();
  Wanted* next();
  void name_some(Wanted& wanted, std::unique_lock<std::mutex>& lock);

  FileNamer& namer_;
  std::size_t most_files_;
  // Belongs to the recording's thread.
  std::size_t seen_ = 0;            // of the locations
  std::vector<Wanted*> of_module_;  // null: not for early naming
  mutable std::mutex mutex_;        // guards all below
  std::condition_variable changed_;
  std::map<FileKey, std::unique_ptr<Wanted>> files_;
  std::size_t named_ = 0;
  std::size_t text_ = 0;  // bytes of names
  bool over_ = false;     // no more requests begin
  bool ends_ = false;
  bool busy_ = true;  // the thread uses namer_, at first to start the worker
  Clock::time_point busy_since_ = Clock::now();
  std::atomic<bool> cancelled_ = false;
  std::thread thread_;
};

}  // namespace labelscope::cli
