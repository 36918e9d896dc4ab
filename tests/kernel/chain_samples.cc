#include "kernel/chain_samples.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "support/catch.h"

namespace labelscope::test {
namespace {

constexpr const char* kNames[] = {"not-wanted",
#define LS_NAME(end, name, does) name,
                                  LS_STACK_ENDS(LS_NAME)};

}  // namespace

bool is_complete(const TakenSample& sample) {
  return sample.stack_end == LS_STACK_ROOT || sample.stack_end == LS_STACK_ENTRY;
}

bool is_torn(const TakenSample& sample) {
  const std::string chain = chain_of(sample);
  return !is_complete(sample) &&
         (chain.ends_with('e') || (chain.ends_with('f') && !sample.kernel_stack.empty()));
}

std::string ends_of(const std::vector<TakenSample>& samples) {
  std::map<int, std::size_t> counts;
  for (const TakenSample& sample : samples) ++counts[sample.stack_end];
  std::string text;
  for (const auto& [end, count] : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + kNames[end];
  }
  return text;
}

std::size_t complete_in(const std::vector<TakenSample>& samples) {
  return static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), is_complete));
}

void require_complete(const std::vector<TakenSample>& samples, std::size_t of_thousand) {
  const auto cut = static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), is_torn));
  INFO(ends_of(samples) << "; " << cut << " torn");
  REQUIRE((complete_in(samples) + cut) * 1000 >= samples.size() * of_thousand);
  REQUIRE(cut * 20 <= samples.size());
}

std::string chain_of(const TakenSample& sample) {
  return sample.seen.labels.empty() ? "" : sample.seen.labels[0].value;
}

std::string contradiction(const TakenSample& sample, const ChainCodes& codes) {
  if (sample.stack_end == LS_STACK_NOT_WANTED || sample.stack_end >= LS_STACK_END_COUNT) {
    return "its end has no name: " + std::to_string(sample.stack_end);
  }
  if (sample.seen.labels.empty()) return "";
  const std::string chain = chain_of(sample);
  // The sample is from before the call, or from after the return.
  const std::string shorter = chain.substr(0, chain.empty() ? 0 : chain.size() - 1);
  const std::string seen = letters_of(sample.user_stack, codes);
  const bool right = is_complete(sample) ? seen == chain || seen == shorter
                                         : chain.ends_with(seen) || shorter.ends_with(seen);
  if (right) return "";
  std::ostringstream text;
  text << "label " << chain << ", stack " << seen << ", end " << kNames[sample.stack_end] << ", "
       << sample.fp_frames << " by frame pointers:" << std::hex;
  for (const std::uint64_t frame : sample.user_stack) text << " " << frame;
  return text.str();
}

void require_true(const std::vector<TakenSample>& samples, const ChainCodes& codes) {
  std::size_t wrong = 0;
  std::string first;
  for (const TakenSample& sample : samples) {
    const std::string why = contradiction(sample, codes);
    if (why.empty()) continue;
    if (wrong++ == 0) first = why;
  }
  INFO(wrong << " of " << samples.size()
             << " stacks contradict their labels; the first one: " << first);
  REQUIRE(wrong == 0);
}

}  // namespace labelscope::test
