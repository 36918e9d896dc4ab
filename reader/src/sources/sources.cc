// The list of label sources, and observing a thread with all of them.
#include <array>

#include "findings/check_rule.h"
#include "labelscope/observe.h"
#include "sources/custom_labels/custom_labels.h"
#include "sources/label_source.h"
#include "sources/thread_context/thread_context.h"

namespace labelscope {

std::span<const LabelSource* const> label_sources() {
  static const CustomLabels custom_labels;
  static const ThreadContext thread_context;
  static const std::array<const LabelSource*, LS_SOURCE_COUNT> all{&custom_labels, &thread_context};
  return all;
}

const LabelSource* find_source(unsigned number) {
  return number < LS_SOURCE_COUNT ? label_sources()[number] : nullptr;
}

std::span<const Rule> all_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    for (const LabelSource* source : label_sources()) {
      all.insert(all.end(), source->about.rules.begin(), source->about.rules.end());
    }
    return all;
  }();
  return rules;
}

std::string publisher_symbols() {
  std::string text;
  for (const LabelSource* source : label_sources()) {
    if (!text.empty()) text += ", or ";
    const LabelSource::About& about = source->about;
    if (about.version_symbol != nullptr) text += std::string(about.version_symbol) + " and ";
    text += about.variable_symbol;
  }
  return text;
}

Observation observe(std::span<const ls_tls_recipe> recipes, const ThreadState& thread,
                    const MemorySource& memory) {
  Observation total;
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    const Located where = locate(recipes[i], thread.thread_pointer, memory);
    const LabelSource* source = find_source(recipes[i].source);
    Observation one{where.outcome, where.flags, {}};
    if (where.address) {
      one = source == nullptr ? Observation{LS_UNREADABLE_NO_RECIPE, 0, {}}
                              : source->read({memory, *where.address, static_cast<std::uint8_t>(i),
                                              &recipes[i], &thread});
    }
    merge_observation(total, std::move(one), i == 0);
  }
  return total;
}

}  // namespace labelscope
