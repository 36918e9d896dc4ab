// Who made whom wait: the rows of Profile::blame, which say of each total of waits (WaitRow) what
// made its threads wait. They add up to it:
//
//   WaitRow   acme, futex: 1,200 ms       exact
//   BlameRow  acme, futex: 1,100 ms       because of a thread of globex, which woke it
//             acme, futex:    60 ms       because a timer ran out
//             acme, futex:    40 ms       unknown: what is left
//   SampleRow acme, futex:   300 ms       still waiting --> a BlameRow, because of nobody yet
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// The word for a kind in files: "thread", "timer", "still-waiting".
std::string_view blame_kind_name(ls_blame_kind kind);
std::optional<ls_blame_kind> find_blame_kind(std::string_view name);

// Returns whether it is a thread of a recorded process, which has a process and labels.
constexpr bool is_blamed_thread(ls_blame_kind kind) {
  return kind == LS_BLAME_THREAD || kind == LS_BLAME_OWNER;
}

// Makes rows of the waits that have not ended. Call it before the samples are fitted (fit_waits.h):
// until then each of them has the exact length of a wait.
void blame_open_waits(Profile& profile);

// Makes the rows of each total add up to it: what is missing is unknown. If parts exceed it, each
// gets its share. This may be some microseconds, since the kernel's programs add to a total and to
// its parts one after the other; or what the kernel had room for in the parts alone; or what
// samples of other labels have got (fit_waits.h). If blame was divided by some
// keys alone (Profile::blame_keys), so are all its rows from here on, also those from before that.
void complete_blame(Profile& profile);

// Adds up rows that have become equal.
void merge_equal_blame(std::vector<BlameRow>& rows);

// Leaves all rows out, since they would be wrong or incomplete. `why` is the reason for the user.
void drop_blame(Profile& profile, std::string why);
// Returns why a profile does not know who made whom wait, in words for the user.
std::string why_no_blame(const Profile& profile);

}  // namespace labelscope::cli
