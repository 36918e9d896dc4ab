// Judges samples of a program whose label is its true call chain (call_chain.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernel/call_chain.h"
#include "kernel/sampling.h"

namespace labelscope::test {

bool is_complete(const TakenSample& sample);
// Returns whether the sample is from a moment that no table describes. Where an exception is
// caught, the C++ runtime writes that place's registers over those that it has saved itself, and
// then goes there. Where a signal comes, and where its handler returns, the kernel changes one
// register after the other.
bool is_torn(const TakenSample& sample);
// Returns a text like "990 complete, 3 gap".
std::string ends_of(const std::vector<TakenSample>& samples);
std::size_t complete_in(const std::vector<TakenSample>& samples);
// Requires that at least this number of a thousand is complete or torn.
void require_complete(const std::vector<TakenSample>& samples, std::size_t of_thousand);

// Returns the chain that the program says it is in, which is empty without a label.
std::string chain_of(const TakenSample& sample);
// Returns why the stack contradicts the label, or nothing if it does not. A complete stack must
// have all of the chain. Any other one must have the calls up to where it ends, and nothing else.
std::string contradiction(const TakenSample& sample, const ChainCodes& codes = chain_codes());
// Requires that no sample contradicts its label.
void require_true(const std::vector<TakenSample>& samples, const ChainCodes& codes = chain_codes());

}  // namespace labelscope::test
