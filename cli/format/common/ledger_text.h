// The numbers of a recording that add up, as sentences: on stderr at its end, and in the page.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// "1 sample", "3 samples"; of what another tool counts "3 inuse_objects", escaped.
std::string count_text(std::uint64_t count, const Profile& profile);
// "1,000 samples by cpu-clock = 900 labelled + ...; 1,000 written, 0 dropped".
std::string ledger_line(const Profile& profile);
// "8.02 s of CPU time by the kernel's account = 7.95 s attributed (99.1%) + ...".
std::string time_line(const Profile& profile);
// "1,000 stacks = 970 complete + 20 at entry code + 10 incomplete (no-table: 10)"; empty where none
// were asked for. Samples of which no end is known are counted behind it.
std::string stacks_line(const Ledger& ledger);
// Profile::remarks in one line; bytes.
std::string remarks_line(const Profile& profile);
// Whether taken = sum of outcomes, written = taken - dropped, and each stack has one end.
bool adds_up(const Ledger& ledger);

// The end's name: "complete".
std::string_view stack_end_name(ls_stack_end end);
// Of a stack that is there and of whose end nobody has told: it is from a pprof file.
inline constexpr std::string_view kUnknownStackEnd = "unknown";
// One of both.
std::string_view stack_end_name(const Stack& stack);

}  // namespace labelscope::cli
