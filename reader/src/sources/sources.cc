// This file has the list of label sources, and observes a thread with all of them.
#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <vector>

#include "base/text.h"
#include "findings/check_rule.h"
#include "labelscope/observe.h"
#include "sources/custom_labels/custom_labels.h"
#include "sources/elastic_context/elastic_context.h"
#include "sources/go_labels/go_labels.h"
#include "sources/label_source.h"
#include "sources/node_context/node_context.h"
#include "sources/otel_context/otel_context.h"
#include "sources/preset/preset.h"
#include "sources/thread_context/thread_context.h"
#include "sources/variable/variable.h"

namespace labelscope {

namespace {

std::span<const LabelSource* const> all_sources() {
  static const CustomLabels custom_labels;
  static const ThreadContext thread_context;
  static const OtelContext otel_context;
  static const GoLabels go_labels;
  static const NodeContext node_context;
  static const ElasticContext elastic_context;
  static const Variable variable;
  static const Preset preset;
  static const std::array<const LabelSource*, LS_SOURCE_COUNT> all{
      &custom_labels, &thread_context,  &otel_context, &go_labels,
      &node_context,  &elastic_context, &variable,     &preset};
  return all;
}

}  // namespace

std::span<const LabelSource* const> label_sources() {
  static const std::vector<const LabelSource*> found_in_files = [] {
    std::vector<const LabelSource*> some;
    std::ranges::copy_if(all_sources(), std::back_inserter(some), [](const LabelSource* source) {
      return source->about.variable_symbol != nullptr || !source->about.sign.empty();
    });
    return some;
  }();
  return found_in_files;
}

const LabelSource* find_source(unsigned number) {
  return number < LS_SOURCE_COUNT ? all_sources()[number] : nullptr;
}

bool any_of(std::span<const ls_tls_recipe> recipes, bool LabelSource::About::*flag) {
  return std::ranges::any_of(recipes, [&](const ls_tls_recipe& recipe) {
    const LabelSource* source = find_source(recipe.source);
    return source != nullptr && source->about.*flag;
  });
}

bool any_of(std::span<const ls_tls_recipe> recipes, unsigned sources) {
  return std::ranges::any_of(recipes, [&](const ls_tls_recipe& recipe) {
    return LS_IS_SOURCE_OF(sources, recipe.source);
  });
}

unsigned precedence(unsigned source) {
  static constexpr std::array kFirstToLast{
      LS_SOURCE_CUSTOM_LABELS, LS_SOURCE_OTEL_CONTEXT, LS_SOURCE_NODE,
      LS_SOURCE_ELASTIC,       LS_SOURCE_GO,           LS_SOURCE_THREAD_CONTEXT,
      LS_SOURCE_VARIABLE,      LS_SOURCE_PRESET};
  static_assert(kFirstToLast.size() == LS_SOURCE_COUNT);
  return static_cast<unsigned>(std::ranges::find(kFirstToLast, source) - kFirstToLast.begin());
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

void ReadingStory::add_unreadable(const std::string& what, Address address) {
  steps.push_back(what + " at " + hex(address) + " cannot be read");
  findings.push_back(
      {FindingCode::kBadPointer,
       "the memory of " + what + ", " + hex(address) + ", is not there or not resident",
       {}});
}

void ReadingStory::add_outcome(const Observation& seen) {
  steps.push_back("outcome: " + std::string(outcome_name(seen.outcome)) + ", " +
                  std::to_string(seen.labels.size()) +
                  (seen.labels.size() == 1 ? " label" : " labels"));
}

Observation LabelSource::read(const ThreadView& thread) const {
  const RawReading raw = take(thread);
  if (raw.outcome != LS_LABELLED) return {raw.outcome, raw.flags, {}};
  Observation seen = decode(raw.bytes, thread.publisher, thread.meanings());
  seen.flags |= raw.flags;
  return seen;
}

std::string publisher_symbols() {
  std::string text;
  for (const LabelSource* source : label_sources()) {
    if (!text.empty()) text += ", or ";
    const LabelSource::About& about = source->about;
    if (about.version_symbol != nullptr) text += std::string(about.version_symbol) + " and ";
    text += about.variable_symbol != nullptr ? std::string_view(about.variable_symbol) : about.sign;
  }
  return text;
}

Observation observe(std::span<const ls_tls_recipe> recipes, const ThreadState& thread,
                    const MemorySource& memory) {
  return observe_by(recipes, thread, memory, [](const LabelSource& source, const ThreadView& view) {
    return source.read(view);
  });
}

}  // namespace labelscope
