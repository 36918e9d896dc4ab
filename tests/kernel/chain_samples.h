// Samples of a program whose label is its true call chain (call_chain.h), judged.
#pragma once

#include <string>
#include <vector>

#include "kernel/call_chain.h"
#include "kernel/sampling.h"

namespace labelscope::test {

bool is_complete(const TakenSample& sample);
// Cut at a moment that nothing describes: where an exception is caught, the C++ runtime writes that
// place's registers over those that it has saved itself, and then goes there. Where a signal comes,
// and where its handler returns, the kernel changes one register after the other.
bool is_torn(const TakenSample& sample);
// "990 complete, 3 gap"
std::string ends_of(const std::vector<TakenSample>& samples);
std::size_t complete_in(const std::vector<TakenSample>& samples);
// That at least so many of a thousand are complete or torn.
void require_complete(const std::vector<TakenSample>& samples, std::size_t of_thousand);

// The chain that the program says it is in; empty without a label.
std::string chain_of(const TakenSample& sample);
// Why the stack cannot be the one that the label tells of; empty: it can. A stack that is complete
// has all of it. Any other one has the calls up to where it ends, and nothing else.
std::string contradiction(const TakenSample& sample, const ChainCodes& codes = chain_codes());
// Requires that none of them is one.
void require_true(const std::vector<TakenSample>& samples, const ChainCodes& codes = chain_codes());

}  // namespace labelscope::test
