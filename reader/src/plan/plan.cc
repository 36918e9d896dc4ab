// This file puts a plan into words.
#include "labelscope/plan.h"

#include <algorithm>

#include "labelscope/outcome.h"
#include "sources/label_source.h"

namespace labelscope {
namespace {

// At most so many refusals are reported in words. A process may have any number of them.
constexpr std::size_t kMostShown = 5;

}  // namespace

bool is_publisher_name(std::string_view path) {
  const auto sources = label_sources();
  return std::ranges::any_of(
      sources, [&](const LabelSource* source) { return source->is_publisher_name(path); });
}

bool goes_without_saying(const Publisher& publisher) {
  return find_source(publisher.recipe.source)->about.usual;
}

std::string access_text(const Publisher& publisher) {
  std::string text(access_model_name(publisher.model));
  return goes_without_saying(publisher) ? text : variable_name(publisher) + ", " + text;
}

std::string variable_name(const Publisher& publisher) {
  if (!publisher.named.empty()) return publisher.named;
  const LabelSource::About& source = find_source(publisher.recipe.source)->about;
  return source.variable_symbol != nullptr ? source.variable_symbol : std::string(source.name);
}

std::string publisher_title(const Publisher& publisher) {
  return publisher.path + (publisher.named.empty() ? "" : ":" + publisher.named);
}

std::vector<ls_tls_recipe> ProcessPlan::recipes() const {
  std::vector<ls_tls_recipe> all;
  for (const Publisher& publisher : publishers) all.push_back(publisher.recipe);
  if (hides_publisher && all.size() < LS_MAX_PUBLISHERS) all.emplace_back();
  return all;
}

bool ProcessPlan::needs_facts() const {
  return std::ranges::any_of(publishers, [](const Publisher& publisher) {
    return find_source(publisher.recipe.source)->about.needs_facts;
  });
}

std::string ProcessPlan::absence() const {
  if (!publishers.empty()) return {};
  if (modules == 0) return "none of its files could be read";
  std::string text = "the program sets no labels that labelscope knows (" +
                     std::to_string(modules) + (modules == 1 ? " loaded file" : " loaded files") +
                     " looked at)";
  for (std::size_t i = 0; i < std::min(refusals.size(), kMostShown); ++i) {
    text += "; " + refusals[i].path + ": " + finding_clause(refusals[i].finding);
  }
  if (refusals.size() > kMostShown) {
    text += "; and " + std::to_string(refusals.size() - kMostShown) + " more are none either";
  }
  return text;
}

}  // namespace labelscope
