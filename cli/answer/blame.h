// Who made whom wait, by the values of a label: the matrix of --blame.
//
//   tenant        waited    globex    (timer)   (unknown)      columns: because of whom
//   acme          2.91 s    2.90 s    8.10 ms           -
//   globex        1.02 s         -     1.02 s           -      each row adds up to its first time
//
// Labels of the thread that waited make the row. The column is made by the labels of the thread
// that held the lock, woke it, or had its processor, as they were at that moment; what has no
// labels has a column in parentheses.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/answer/selection.h"
#include "cli/answer/summary.h"
#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// The name of a row or a column.
struct BlameName {
  enum class Kind {
    kValue,       // of the label
    kWithout,     // a recorded thread without this label
    kUnreadable,  // a recorded thread whose labels could not be read
    kProcess,     // a process that was not recorded, by its name; without a name, all of them
    kTimer,
    kInterrupt,
    kKernel,
    kQuota,  // its own limit of CPU time
    kMany,   // one of more than have a column
    kStillWaiting,
    kUnknown,
    kIdle,  // a row of waits for work (IdleMode::kFold)
  };
  Kind kind = Kind::kValue;
  std::string text{};  // the value or the name, as bytes
  auto operator<=>(const BlameName&) const = default;
};

struct BlameAmount {
  std::uint64_t time_ns = 0;
  std::uint64_t count = 0;     // as in BlameRow
  std::uint64_t owner_ns = 0;  // of it: because of threads that held a lock (LS_BLAME_OWNER)
  void add(const BlameRow& row) {
    time_ns += row.time_ns;
    count += row.count;
    if (row.by.kind == LS_BLAME_OWNER) owner_ns += row.time_ns;
  }
};

struct BlameLine {
  BlameAmount whole;
  std::map<BlameName, BlameAmount> because_of;
};

struct BlameMatrix {
  std::vector<std::pair<BlameName, BlameLine>> lines;  // the one with most time first
  std::vector<std::pair<BlameName, BlameAmount>> columns;
  BlameAmount whole;
  // Of it: waits in a futex that are blamed on who woke the thread. In a lock without a known
  // owner, that is the last one of all who have had it meanwhile.
  std::uint64_t futex_by_waker_ns = 0;
};

// Returns whether waits can be divided by this key: by labels, and by what all threads of a
// process have in common.
bool is_key_of_blame(std::string_view key);
// Returns whether the waits of this profile are (Profile::blame_keys).
bool has_blame_by(const Profile& profile, std::string_view key);
// Returns why they are not divided by a key, in words for the user.
std::string why_no_blame_by(const Profile& profile, std::string_view key);

// For people, rows with a value come first, and that of waits for work last, which counts in no sum
// but its own; and all processes that were not recorded have one column. For programs, waits for
// work are those of threads without the label, and each process has a column.
enum class BlameReader { kProgram, kPeople };
BlameMatrix blame_matrix(const Profile& profile, std::string_view key,
                         BlameReader reader = BlameReader::kProgram);

// Leaves out what was waited by threads that do not meet all conditions. If waits cannot be
// selected in this way, all rows are left out (drop_blame()).
void select_blame(Profile& profile, const Selection& selection);

// Writes a matrix for each key. The profile must have rows of blame.
Status render_blame(const Profile& profile, const std::vector<std::string>& keys,
                    const SummaryStyle& style, std::ostream& out);
// Writes the same for programs: a line of JSON for each key (labelscope-record(1)).
Status render_blame_json(const Profile& profile, const std::vector<std::string>& keys,
                         std::ostream& out);

}  // namespace labelscope::cli
