// The module that an address of a process belongs to, also after the process has ended, or has
// mapped something else there.
//
// A process may map code at ever new places, much faster than it can be sampled. So a new mapping
// is only noted, in a bounded table, and becomes a module of the recording with its first sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "cli/profile/mapped_files.h"
#include "cli/profile/perf_maps.h"
#include "cli/profile/profile.h"
#include "labelscope/mapping.h"
#include "labelscope/target.h"

namespace labelscope::cli {

// The modules of a recording: one entry for each executable mapping with samples, shared by
// processes that mapped it at the same place. Its file is kept open so that it can be symbolized
// after the process has died.
class ModuleTable {
 public:
  explicit ModuleTable(std::size_t most_files = MappedFiles::own_share()) : open_(most_files) {}

  // `maker` is the process that has mapped it. Generated code, which is in no file, belongs to it
  // alone.
  // `mapped`: the state of its file when it was mapped, if that is known.
  Index add(const Mapping& mapping, const FindProcess& process, Family family = 0, Pid maker = {},
            const FileState& mapped = {});
  Index kernel();
  MappedFiles& files() { return open_; }
  Family new_family() { return ++families_; }
  // Returns the number of mappings without samples that were forgotten for want of room.
  std::uint64_t forgotten() const { return forgotten_; }
  void count_forgotten() { ++forgotten_; }

  const std::vector<ProfileModule>& modules() const { return modules_; }
  const std::vector<ModuleFile>& module_files() const { return files_; }
  // Of these, when they were mapped.
  const std::vector<FileState>& file_states() const { return states_; }
  // Files are not looked at any more: one of them may not answer.
  void leave_files() { leaves_files_ = true; }
  // Moves everything out; the table is empty afterwards. `files` is parallel to the modules.
  std::vector<ProfileModule> take(std::vector<ModuleFile>& files);
  // Returns copies of them, as they are now.
  std::vector<ProfileModule> copy(std::vector<ModuleFile>& files);
  // Keeps what was found out about a module when its addresses were named.
  void keep_names(Index index, const ProfileModule& named) {
    modules_[index].build_id = named.build_id;
    modules_[index].why_nameless = named.why_nameless;
  }
  // Forgets those that have no number, and calls the others by theirs. Address spaces need
  // AddressSpace::renumber().
  void keep(const std::vector<Index>& numbers);

 private:
  void settle(Index index, ProfileModule& module, ModuleFile& file);
  std::vector<ProfileModule> modules_;
  std::vector<ModuleFile> files_;  // parallel to modules_
  std::vector<FileState> states_;  // likewise: of the files when they were mapped
  using Key = std::tuple<FileId, Address, Address, std::uint64_t, std::string, Pid, std::int64_t,
                         std::int64_t>;
  std::map<Key, Index> known_;
  MappedFiles open_;
  PerfMaps perf_maps_;
  bool leaves_files_ = false;
  std::map<Index, Pid> generated_;  // the process that made the code of each of these modules
  Family families_ = 0;
  std::uint64_t forgotten_ = 0;
  Index kernel_ = kNoIndex;
};

// The executable mappings of one process, kept up to date while it runs. A copy is made for a child
// right after fork.
//
// Where reports are lost, there is a gap, until the kernel's list is read again:
//
//   reports    A at x    B at y |-- lost --|                B at y
//   samples        s1        s2   s3    s4    s5   read       s6
//                               |----------------- gap -|
//
// In it, something else may have been at x, and at y. Only what is as it was before and behind the
// gap, at a place that no report has ever shown to change, is certain there. (A program that loads
// and unloads plugins has two at one address in turn, so that the one before and the one behind say
// nothing.) Otherwise the module is kUnknownModule.
//
// A list is often read while reports of before are still to be handed out, as samples are:
//
//   handed out      A at x    sample   B at x   samples ...
//   read meanwhile                                             list: A at x
//
// What the list has counts from the end of its reading on, and until then what is reported. What is
// reported as of while it was read is right in any case: the list may have it or not.
class AddressSpace {
 public:
  // So many mappings without samples are remembered. No program that we know has a quarter of them.
  static constexpr std::size_t kMostWithoutSamples = 8192;

  explicit AddressSpace(ModuleTable& modules, Pid owner = {})
      : modules_(&modules), family_(modules.new_family()), owner_(owner) {}
  // After fork: new mappings are the child's from now on.
  void set_owner(Pid child);

  // Adds all executable mappings that the process has now. Those known before stay. One that is
  // where another was counts only as of now, for look_up_at(): samples from before are still to
  // come. `sampled` is an address whose module must be kept. `since_ns`: when the reading of the
  // list began, if the target has it already.
  Status load(const Target& process, Address sampled = 0, std::uint64_t since_ns = monotonic_ns());
  // Adds one mapping that the kernel has announced. 0: it is not known when it was made.
  void add(const Mapping& mapping, const FindProcess& process, std::uint64_t time_ns = 0);
  // Mappings that were made since then were not announced. The gap ends with the next load().
  void note_gap(std::uint64_t since_ns);
  bool has_open_gap() const { return !gaps_.empty() && gaps_.back().until_ns == kOpen; }
  // Addresses are looked up as of this time from now on.
  void look_up_at(std::uint64_t time_ns);
  void clear() {  // call it after exec
    ranges_.clear();
    coming_.clear();
    program_.reset();
  }

  // Returns the module at a user address. kNoIndex: there is none. kUnknownModule: it is not known
  // which.
  Index module_at(Address address, const FindProcess& process = {});
  // Returns the module of the main program. If load() was never called, it is the module of the
  // first file that was mapped: the kernel maps the program before its interpreter. kNoIndex: not
  // known.
  Index program(const FindProcess& process = {});
  // Returns whether a file with this in its path is mapped, with or without samples.
  bool maps_file(std::string_view part) const;
  // Behind ModuleTable::keep(), for each address space once. `done`: what others have renumbered.
  void renumber(const std::vector<Index>& numbers, std::set<const void*>& done);
  // Changes when an address may belong to something else than before. Then clear caches that have
  // addresses as keys.
  std::uint64_t epoch() const { return epoch_; }

 private:
  struct Region {
    Mapping mapping;
    Pid maker{};
    FileState file{};         // when it was mapped, or first seen
    Index module = kNoIndex;  // made with the first sample
  };
  struct Range {
    Address end;
    std::shared_ptr<Region> region;  // the mapping of which this is a part
    std::uint64_t seen_ns;           // when it was known to be there
    std::uint64_t listed_ns;         // if a list says so: when its reading had ended; or 0
    std::uint32_t behind_gap;        // the last gap before it was noted
    std::uint32_t read_behind_gap;   // the last gap behind which the kernel's list had it
    bool changes;                    // a report has shown another mapping here
  };
  struct Gap {
    std::uint64_t since_ns;
    std::uint64_t until_ns;
    std::uint32_t first;  // its number, or those of several gaps
    std::uint32_t last;
  };
  // How it is known that something is mapped.
  struct Seen {
    std::uint64_t time_ns;        // of a report, or when the reading of a list began
    std::uint64_t listed_ns = 0;  // when the reading of the list had ended; 0: this is a report
    std::uint32_t gap = 0;        // of a list: the last gap before it
  };
  struct Coming {
    Seen seen;
    Mapping mapping;
    FileState file;
  };
  static constexpr std::uint64_t kOpen = UINT64_MAX;
  static constexpr std::size_t kMostGaps = 16;
  std::shared_ptr<Region> note(const Mapping& mapping, const FileState& file, const Seen& seen);
  using Ranges = std::map<Address, Range>;
  Ranges::iterator first_over(const Mapping& mapping);
  static bool is_of(const Ranges::value_type& entry, const Mapping& mapping, const FileState& file);
  bool is_known_otherwise(const Mapping& mapping);
  using AllComing = std::multimap<std::uint64_t, Coming>;
  void await(const Seen& seen, const Mapping& mapping, const FileState& file);
  void take(AllComing::iterator coming);
  void take_coming(std::uint64_t time_ns);
  bool is_certain(const Range& range) const;
  Index module_of(Region& region, const FindProcess& process);
  void forget_some(const FindProcess& process);

  ModuleTable* modules_;
  Family family_;
  Pid owner_;
  Ranges ranges_;  // by start; they do not overlap
  std::shared_ptr<Region> program_;
  std::size_t crowded_ = 2 * kMostWithoutSamples;  // more ranges than this are too many
  std::uint64_t epoch_ = 0;
  AllComing coming_;  // of lists, by the end of their reading; others are known until then
  std::uint32_t gap_count_ = 0;
  std::vector<Gap> gaps_;  // the last ones
  Gap within_{};           // the numbers of those in which addresses are looked up now; 0: in none
};

}  // namespace labelscope::cli
