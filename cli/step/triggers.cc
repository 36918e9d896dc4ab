#include "cli/step/triggers.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cli/step/code_scan.h"
#include "cli/symbol/symbolizer.h"

namespace labelscope::cli {
namespace {

constexpr const char* kVariable = "custom_labels_current_set";
// Calls of the writers that programs link statically, by the names of their C API.
constexpr std::string_view kWriterPrefix = "custom_labels_";
constexpr std::string_view kBegin = "labelscope_update_begin";
constexpr std::string_view kEnd = "labelscope_update_end";
// A function that refers to the variable more often than this gets no breakpoint at each place.
constexpr std::size_t kMaxReferences = 256;

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view without_arguments(std::string_view name) { return name.substr(0, name.find('(')); }

// The part of a name that is in every mangled form of it: to demangle all names of a large program
// takes seconds.
std::string_view stem(std::string_view name) {
  name = name.substr(0, name.find_first_of("<("));
  const std::size_t scope = name.rfind("::");
  return scope == std::string_view::npos ? name : name.substr(scope + 2);
}

bool may_match(const std::string& mangled, const std::vector<std::string>& names) {
  return mangled.starts_with("_") &&
         std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return mangled.find(stem(name)) != std::string::npos;
         });
}

// The place at which the pair's two names part: a single colon, as names have double ones.
std::size_t pair_colon(const std::string& word) {
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != ':') continue;
    if (i + 1 < word.size() && word[i + 1] == ':') {
      ++i;
      continue;
    }
    return i;
  }
  return std::string::npos;
}

}  // namespace

DeclaredUpdates DeclaredUpdates::parse(const std::vector<std::string>& words) {
  DeclaredUpdates declared;
  declared.asked = words;
  for (const std::string& word : words) {
    const std::size_t colon = pair_colon(word);
    if (colon == std::string::npos) {
      declared.functions.push_back(word);
      continue;
    }
    declared.begins.push_back(word.substr(0, colon));
    declared.ends.push_back(word.substr(colon + 1));
  }
  declared.begins.emplace_back(kBegin);
  declared.ends.emplace_back(kEnd);
  return declared;
}

void Triggers::add(Address address, unsigned reasons) {
  unsigned& known = reasons_[address];
  if (known == 0 && !breakpoints_.add(address)) {
    reasons_.erase(address);
    return;
  }
  constexpr unsigned kLeadToUpdates =
      kWriterTrigger | kUpdateTrigger | kUpdateBeginTrigger | kReferenceTrigger;
  if ((known & kLeadToUpdates) == 0 && (reasons & kLeadToUpdates) != 0) ++writers_;
  known |= reasons;
}

void Triggers::remove(Address address, unsigned reasons) {
  auto entry = reasons_.find(address);
  if (entry == reasons_.end()) return;
  entry->second &= ~reasons;
  if (entry->second != 0) return;
  breakpoints_.remove(address);
  reasons_.erase(entry);
}

unsigned Triggers::at(Address address) const {
  auto entry = reasons_.find(address);
  return entry == reasons_.end() ? 0 : entry->second;
}

bool Triggers::name_matches(const FunctionSymbol& function, const std::vector<std::string>& names) {
  std::string name = function.name;
  bool matches = contains(names, name);
  if (!matches && may_match(name, names)) {
    name = demangle(function.name);
    matches = contains(names, name) || contains(names, without_arguments(name));
  }
  if (!matches) return false;
  found_.push_back(function.name);
  found_.emplace_back(without_arguments(name));
  found_.push_back(std::move(name));
  return true;
}

void Triggers::add_functions(const MappedCode& range) {
  for (const FunctionSymbol& function : range.file->functions) {
    const Address start = function.start + range.bias;
    if (start < range.start || start >= range.end) continue;
    unsigned reasons = 0;
    if (range.file->role == CodeRole::kPublisher || function.name.starts_with(kWriterPrefix)) {
      reasons |= kWriterTrigger;
    }
    if (name_matches(function, declared_.functions)) reasons |= kUpdateTrigger;
    if (name_matches(function, declared_.begins)) reasons |= kUpdateBeginTrigger;
    if (name_matches(function, declared_.ends)) reasons |= kUpdateEndTrigger;
    if (reasons != 0) add(start, reasons);
  }
}

void Triggers::add_references(const MappedCode& range, const ProcessPlan& plan) {
  VariableReferences wanted;
  for (const Publisher& publisher : plan.publishers) {
    const bool own = range.file->main_executable && publisher.path == range.file->path;
    if (own && publisher.recipe.kind == LS_TP_OFFSET) {
      wanted.tp_offsets.push_back(publisher.recipe.offset);
    }
  }
  auto relocations = range.file->image->tls_relocations(kVariable);
  if (relocations) {
    for (const TlsRelocation& relocation : *relocations) {
      if (relocation.by_name) wanted.slots.push_back(relocation.slot + range.bias);
    }
  }
  for (Address reference : find_references(breakpoints_, range.start, range.end, wanted)) {
    const auto function = code_.function_at(reference);
    if (!function) continue;
    std::vector<Address>& all = references_[function->start];
    if (all.size() < kMaxReferences) all.push_back(reference);
    add(function->start, kWriterTrigger);
  }
}

void Triggers::add_range(const MappedCode& range, const ProcessPlan& plan) {
  add_functions(range);
  // Of a publishing library every function is one already.
  if (range.file->role == CodeRole::kProgram) add_references(range, plan);
}

void Triggers::narrow_to_references(Address function_start, const Disassembler& disassembler) {
  remove(function_start, kWriterTrigger);
  auto entry = references_.find(function_start);
  if (entry == references_.end()) return;
  const std::vector<Address>& references = entry->second;
  Address at = function_start;
  const Address end = *std::max_element(references.begin(), references.end());
  while (at <= end) {
    std::array<std::byte, kMaxInstructionSize> bytes{};
    const std::size_t size = breakpoints_.read(at, bytes);
    if (size == 0) return;
    const Instruction instruction = disassembler.decode(at, std::span(bytes).first(size));
    const Address next = at + instruction.size;
    const bool refers = std::any_of(references.begin(), references.end(),
                                    [&](Address r) { return r >= at && r < next; });
    if (refers) add(at, kReferenceTrigger);
    at = next;
  }
}

std::vector<std::string> Triggers::missing() const {
  std::vector<std::string> missing;
  for (const std::string& word : declared_.asked) {
    const std::size_t colon = pair_colon(word);
    const bool first = contains(found_, word.substr(0, colon));
    const bool second = colon == std::string::npos || contains(found_, word.substr(colon + 1));
    if (!first || !second) missing.push_back(word);
  }
  return missing;
}

void Triggers::remove_all() {
  for (const auto& [address, reasons] : reasons_) breakpoints_.remove(address);
  reasons_.clear();
  references_.clear();
}

void Triggers::forget(Address start, Address end) {
  const auto inside = [&](const auto& entry) { return entry.first >= start && entry.first < end; };
  std::erase_if(reasons_, inside);
  std::erase_if(references_, inside);
}

}  // namespace labelscope::cli
