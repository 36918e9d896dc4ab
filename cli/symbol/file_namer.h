// Names for the addresses of files, which the worker finds: of a foreign file labelscope itself has
// only the descriptor and the answers of the worker.
//
//   labelscope                                worker
//     number, descriptor, 512 addresses ---->  opens the file (elf_symbols.h)
//       <------------------------------------  needs a debug file of this name and build ID
//     looks where it may (debug_files.h),
//     a descriptor, or why not ------------->  checks it
//       <------------------------------------  names, remarks
//     the same number, more addresses ------>  ...
//
// If a file kills the worker, or takes too long, it is read once more without its debug
// information, and then never again. All this takes a bounded time, for each file and for all.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/names/function_table.h"
#include "cli/names/names_messages.h"
#include "cli/profile/profile.h"
#include "cli/symbol/debug_files.h"
#include "cli/worker/worker.h"

namespace labelscope::cli {

// Device, inode, and time of the last change: a file that is written anew is another one. The time
// is the kernel's own (ctime), since an owner may give a file any mtime.
using FileKey = std::tuple<dev_t, ino_t, std::int64_t, std::int64_t>;
// Returns nothing if the file is not open.
std::optional<FileKey> file_key(const ModuleFile& file);

class FileNamer {
 public:
  using Duration = Worker::Clock::duration;
  struct Options {
    Launcher launch = launch_own_worker;
    std::vector<std::string> debug_folders = {};  // folders of --debug-dir
    // Without it, names come from symbol tables alone, and there are no inlined calls and no lines.
    bool debug_information = true;
    // Ends the work soon when it returns true. May be empty.
    std::function<bool()> cancelled = {};
    // May be empty, too.
    DebugFiles::Downloading downloading = {};
    // The limits for one file, and for all files. Each address adds a moment.
    Duration most_of_a_file = std::chrono::seconds(30);
    Duration most_of_all = std::chrono::seconds(120);
  };
  explicit FileNamer(Options options);
  FileNamer(const FileNamer&) = delete;
  FileNamer& operator=(const FileNamer&) = delete;
  ~FileNamer();

  // Starts the worker's process, if there is none, and does not wait for it.
  void begin() { worker_.begin(); }
  // Gives it the time of all files once more: for the names of another window.
  void refill();
  // Ends the worker. The next request has a new one.
  void end() { worker_.end(); }
  // Call it while there is no request.
  void set_cancelled(std::function<bool()> cancelled) { options_.cancelled = std::move(cancelled); }
  // Requests until end_early() are early ones: nobody waits for them (early_names.h). They cost
  // nothing of the limits, no server is asked for debug files, and what goes wrong is no file's
  // fault.
  void begin_early() { early_ = true; }
  void end_early();

  // These do what read_functions() and demangle() do, in the worker. Without a worker a name stays
  // as it is.
  Result<std::vector<FunctionSymbol>> functions(const UniqueFd& file);
  // The same, but those of its debug file if it has been stripped and one is installed.
  Result<std::vector<FunctionSymbol>> all_functions(const UniqueFd& file, const std::string& path);
  std::string demangled(const std::string& name);

  // The first reason why functions() failed for a file that was not to blame.
  const std::string& trouble() const { return trouble_; }
  // The protections that the worker could not have on this machine, for verbose output.
  const std::string& not_given_up() const { return worker_.not_given_up(); }

 private:
  friend class NamedFile;
  struct Trouble {
    bool own_symbols_work = false;  // or were not tried yet
    std::string why;
  };
  Worker::Outcome ask(Worker::Request request, Duration& left);
  bool may_be_due_to_others(const Worker::Outcome& outcome);
  bool cancelled() const { return options_.cancelled && options_.cancelled(); }

  Options options_;
  DebugFiles debug_files_;
  Worker worker_;
  Duration left_;
  std::uint64_t last_number_ = 0;
  bool early_ = false;
  unsigned early_generation_ = 0;  // of the worker that has files of early requests; 0: none
  std::map<FileKey, Trouble> troubles_;
  std::string trouble_;
};

// One file. `file` is kept open. `task`: the worker's, who reads files of this kind. `first_bytes`:
// of a perf map (names/perf_map.h).
class NamedFile {
 public:
  NamedFile(FileNamer& namer, ModuleFile file, std::string path, std::string_view task = kNamesTask,
            std::uint64_t first_bytes = UINT64_MAX);
  NamedFile(const NamedFile&) = delete;
  NamedFile& operator=(const NamedFile&) = delete;
  ~NamedFile();

  // Whether the file can be used at all; otherwise problem() has the reason. The functions below
  // call it first.
  bool open();
  // Returns the lines of each address (link-time), innermost first; empty if nothing is known. If
  // the file cannot be used there are no lines, and problem() has the reason. Takes at most
  // kMaxAddresses.
  std::vector<std::vector<SourceLine>> find(std::span<const Address> addresses, bool inlined);

  // Whether open() succeeded, and nothing has failed since.
  bool is_usable() const { return opened_ && !unusable_; }
  const std::string& build_id() const { return remarks_.build_id; }
  Address first_address() const { return remarks_.first_address; }
  bool has_lines() const { return remarks_.has_lines; }
  // Why it cannot be used, or not wholly; empty if it can.
  const std::string& problem() const { return problem_; }
  // Whether another object for this file would find the same: nothing was left out, and all places
  // for debug files were looked at.
  bool is_whole() const { return is_usable() && problem_.empty() && !skipped_servers_; }
  // Whether both are about the same file in the same state.
  bool is_about(const ModuleFile& file) const;
  // Why some addresses have no name, and what would help.
  std::string nameless() const;

 private:
  bool ask(std::span<const Address> addresses, bool inlined,
           std::vector<std::vector<SourceLine>>& names);
  Result<Message> give(std::string_view body);
  void note_trouble(const Worker::Outcome& outcome);

  FileNamer& namer_;
  ModuleFile file_;
  std::string path_;
  std::string_view task_;
  std::uint64_t first_bytes_;
  FileKey key_;
  std::uint64_t number_;
  unsigned known_to_ = 0;  // the worker's generation when it opened the file
  bool opened_ = false;
  bool unusable_ = false;
  NamesFrom from_;
  bool wants_more_memory_ = false;
  bool skipped_servers_ = false;
  unsigned questions_ = 0;
  unsigned larger_workers_ = 0;
  std::uint64_t memory_ = kWorkerMemory;
  FileNamer::Duration left_;
  NamesRemarks remarks_;
  std::string problem_;
};

}  // namespace labelscope::cli
