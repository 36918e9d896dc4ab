// MappedSince has what a process has mapped at each place, as far as lists of its mappings that BPF
// programs unwind by may not know it. Where something else is mapped, such a list has the table of
// what was there:
//
//   list 1 is read     B at x    sample by list 1        list 2 is read    sample by list 2
//   (it has A at x)      |       ... -> x -> caller?     (B at x)          ... -> x -> caller
//                     report        ^ by A's table, in B's code
//
// So a stack that leads through x is good up to x, unless A is there again. Its sample names its
// list, and reports are handed out before the samples that are later (mapping_reports.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/mapping.h"

namespace labelscope {

// What is mapped at a place.
struct MappedCode {
  FileId file;                   // of memory without a file: none
  std::uint64_t generation = 0;  // of its inode, whose number may be used again; 0: not known
  std::uint64_t bias = 0;        // from the place in the file to that in memory
  friend bool operator==(const MappedCode&, const MappedCode&) = default;
};

class MappedSince {
 public:
  // So many changes are remembered. A program that maps more while one list is in use has only
  // stacks of one frame until the next list.
  static constexpr std::size_t kMostChanges = 8192;
  // So many lists of a process may still have samples in the ring.
  static constexpr std::size_t kMostLists = 16;

  // A list is in use from now on. It was read between these times, by CLOCK_MONOTONIC.
  void begin_list(std::uint32_t list, std::uint64_t read_ns, std::uint64_t read_until_ns);
  // This was mapped there at that time. `was_there`: the last list has the same there already, and
  // no file with a table.
  void note(Address start, Address end, std::uint64_t time_ns, const MappedCode& code,
            bool was_there);
  // Returns the first frame of a stack of that time whose code may be another one than its list
  // says. What is behind it may be no caller.
  std::optional<std::size_t> doubtful(std::uint32_t list, std::uint64_t time_ns,
                                      std::span<const std::uint64_t> frames) const;

 private:
  struct Change {
    std::uint64_t time_ns = 0;
    MappedCode code;
    bool has_no_table = false;
  };
  struct Place {
    Address end = 0;
    std::vector<Change> changes;  // by time
  };
  using Places = std::map<Address, Place>;  // by start; they do not overlap
  struct List {
    std::uint32_t number = 0;
    std::uint64_t read_ns = 0;
    std::uint64_t read_until_ns = 0;
  };
  static bool are_same(const Change& one, const Change& other);
  void split_at(Address address);
  void append(Place& place, const Change& change);
  bool is_doubtful(Address address, const List& list, std::uint64_t time_ns) const;

  Places places_;
  std::size_t changes_ = 0;         // of all places
  std::uint64_t forgotten_ns_ = 0;  // the last change that is not remembered
  std::deque<List> lists_;
};

}  // namespace labelscope
