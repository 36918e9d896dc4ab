// The kernel adds up all waits, but samples only some. This gives the samples the time of the
// totals:
//
//   WaitRow      process, label set, kind: 1,200 ms         exact
//   SampleRow    thread, stack, the same:  600 of 900 ms  -->  800 ms
//                thread, stack, the same:  300 of 900 ms  -->  400 ms
//
// So shares by label and reason are exact, and those by thread and stack are estimates. Only time
// under labels whose record was lost is an estimate by label, too.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// Time of waits whose label set is not known, by value type.
struct UnknownWaits {
  std::array<std::uint64_t, kMostValueTypes> of_any{};
  // Of label sets that have no total of all their labels, as far as that is known.
  std::array<std::uint64_t, kMostValueTypes> of_others{};
};

// Makes the weights of samples of waits add up to the totals `profile.waits`. Those of open waits
// (LS_STILL_WAITING) are exact and stay. A total without a sample becomes a row without a stack,
// which counts no sample. Samples that belong to no total get a part of the totals of their process
// and reason, which these totals then no longer have, but one that counts no wait.
//
// The `unknown` time of a kind is divided as samples say: those of no total have what they weigh of
// the whole, and totals what they lack. Those that have as much as their samples weigh lack nothing
// if others have less. Of the time of others, only those samples count that have no total of all
// their labels, if there are any. Returns what nothing could have.
//
// Some totals may have lost labels that their samples have (NumberedLabels): `without_lost` has for
// each label set the one without these labels, or kNoIndex. A sample without a total of its own
// belongs to the total of that one.
std::uint64_t fit_waits(Profile& profile, const UnknownWaits& unknown,
                        std::span<const Index> without_lost = {});

}  // namespace labelscope::cli
