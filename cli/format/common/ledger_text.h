// The numbers of a recording that add up, as sentences for stderr at its end and for the page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// Returns "1 sample" or "3 samples"; for things that another tool counts "3 inuse_objects",
// escaped.
std::string count_text(std::uint64_t count, std::string_view counted);
std::string count_text(std::uint64_t count, const Profile& profile);
// "1,000 samples by cpu-clock = 900 labelled + ...; 1,000 written, 0 dropped".
std::string ledger_line(const Profile& profile);
// "8.02 s of CPU time by the kernel's account = 7.95 s attributed (99.1%) + ...".
std::string time_line(const Profile& profile);
// "1,000 stacks = 970 complete + 20 at entry code + 10 incomplete (no-table: 10)"; empty if no
// stacks were asked for. Samples whose stack end is unknown are counted after it.
std::string stacks_line(const Ledger& ledger);
// "36.0 s of 12 threads = 3.10 s cpu + ... + 1.2 ms (0.003%) residue, 980 waits"; empty if nothing
// is known of threads.
std::string threads_line(const Profile& profile);
// The same of the threads with the largest residues.
std::vector<std::string> worst_threads(const Profile& profile, std::size_t most);
// "3 of 12 threads have a larger residue than ticks and switches explain; thread 7 of ...", the one
// with the largest; empty if none has.
std::string large_residues_line(const Profile& profile);
// Profile::remarks in one line, as bytes.
std::string remarks_line(const Profile& profile);
// Returns what the ledger's numbers say against each other, as sentences: time that was counted
// twice, or that no thread's account has, beyond what ticks and readings explain; or sums that are
// wrong. Empty if all is well.
std::vector<std::string> account_problems(const Profile& profile);
// Leaves out of the ledger what is not beyond that. The differences of a hundred recordings would
// otherwise add up to one that seems to say something.
void leave_out_usual_differences(Profile& profile);
// Returns whether taken is the sum of outcomes, written is taken without dropped, and each stack
// has one end.
bool adds_up(const Ledger& ledger);

// Returns the name of the end: "complete".
std::string_view stack_end_name(ls_stack_end end);
// The name of the end of a stack from a pprof file of another tool, which has not recorded it.
inline constexpr std::string_view kUnknownStackEnd = "unknown";
// Returns the name of the stack's end, or kUnknownStackEnd.
std::string_view stack_end_name(const Stack& stack);

}  // namespace labelscope::cli
