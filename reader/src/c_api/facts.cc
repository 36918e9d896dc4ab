// This is the part of the C API for what a process publishes about itself.
#include "c_api/boundary.h"
#include "c_api/objects.h"
#include "labelscope/process_facts.h"

namespace labelscope::c_api {
namespace {

// Keys of variables are facts, too, of a process that publishes nothing.
const ProcessFacts* context_of(const ls_plan* plan) {
  if (plan == nullptr || !plan->plan.facts || !plan->plan.facts->has_context()) return nullptr;
  return plan->plan.facts.get();
}

const Attributes::value_type* attribute_at(const ls_plan* plan, std::size_t index) {
  const ProcessFacts* facts = context_of(plan);
  return element(facts == nullptr ? nullptr : &facts->attributes, index);
}

}  // namespace
}  // namespace labelscope::c_api

using namespace labelscope;         // NOLINT(google-build-using-namespace): C functions have none
using namespace labelscope::c_api;  // NOLINT(google-build-using-namespace): the same

size_t ls_attribute_count(const ls_plan* plan) {
  const ProcessFacts* facts = context_of(plan);
  return facts == nullptr ? 0 : facts->attributes.size();
}

ls_bytes ls_attribute_key(const ls_plan* plan, size_t attribute) {
  const auto* found = attribute_at(plan, attribute);
  return found == nullptr ? no_bytes() : bytes_of(found->first);
}

ls_bytes ls_attribute_value(const ls_plan* plan, size_t attribute) {
  const auto* found = attribute_at(plan, attribute);
  return found == nullptr ? no_bytes() : bytes_of(found->second);
}

uint64_t ls_context_time(const ls_plan* plan) {
  const ProcessFacts* facts = context_of(plan);
  return facts == nullptr ? 0 : facts->published_ns;
}

int ls_context_is_of_parent(const ls_plan* plan) {
  const ProcessFacts* facts = context_of(plan);
  return facts != nullptr && facts->of_parent ? 1 : 0;
}

ls_bytes ls_context_schema(const ls_plan* plan) {
  const ProcessFacts* facts = context_of(plan);
  return facts == nullptr ? no_bytes() : bytes_of(facts->schema);
}

size_t ls_context_key_count(const ls_plan* plan) {
  const ProcessFacts* facts = context_of(plan);
  return facts == nullptr ? 0 : facts->keys.size();
}

ls_bytes ls_context_key(const ls_plan* plan, size_t number) {
  const ProcessFacts* facts = context_of(plan);
  const std::string* found = element(facts == nullptr ? nullptr : &facts->keys, number);
  return found == nullptr ? no_bytes() : bytes_of(*found);
}
