#include "cli/step/step_record.h"

#include <algorithm>

#include "cli/step/label_set_text.h"
#include "findings/check_rule.h"

namespace labelscope::cli {
namespace {

// Callers further out do not help, and recursion may be deep.
constexpr std::size_t kMaxPlaces = 32;
// So many diagnostics of one rule are reported. A program that is wrong everywhere has enough of
// them.
constexpr std::size_t kMaxDiagnostics = 1000;

// Finds the innermost place in the author's own code: free() and memcpy() are not to blame.
std::size_t author_index(const std::vector<Address>& addresses, CodeMap& code) {
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (code.is_authors(addresses[i])) return i;
  }
  return 0;
}

// Adds the places of an address, if there is room: that of the innermost inlined function, then
// those of the functions that it is inlined into.
void add_places(Address address, CodeMap& code, std::vector<CodePlace>& places) {
  CodePlace place = code.place_at(address);
  const std::vector<SourceLine>& lines = code.lines_at(address);
  if (lines.empty()) {
    places.push_back(std::move(place));
    return;
  }
  for (std::size_t i = 0; i < lines.size() && places.size() < kMaxPlaces; ++i) {
    place.function = source_name(lines[i].function);
    place.file = lines[i].file;
    place.line = static_cast<std::uint32_t>(std::max(lines[i].line, 0));
    places.push_back(place);
  }
}

void add_all_places(const std::vector<Address>& addresses, std::size_t author, CodeMap& code,
                    Diagnostic& diagnostic) {
  std::vector<CodePlace>& places = diagnostic.places;
  // Half of the places are for the author's code, even if the called library is deep.
  for (std::size_t i = 0; i < author && places.size() < kMaxPlaces / 2; ++i) {
    add_places(addresses[i], code, places);
  }
  if (places.size() > kMaxPlaces / 2) places.resize(kMaxPlaces / 2);
  const std::vector<SourceLine>& lines = code.lines_at(addresses[author]);
  const std::size_t level = authors_level(lines);
  diagnostic.author_place = places.size() + (level < lines.size() ? level : 0);
  for (std::size_t i = author; i < addresses.size() && places.size() < kMaxPlaces; ++i) {
    add_places(addresses[i], code, places);
  }
  diagnostic.author_place = std::min(diagnostic.author_place, places.size() - 1);
}

}  // namespace

void StepFindings::add(std::string subject, const UpdateFinding& finding, SteppedProcess& process) {
  static const std::vector<Address> kNowhere;
  const std::vector<Address>& addresses = finding.change ? finding.change->addresses : kNowhere;
  std::size_t author = 0;
  Key key{finding.rule, {}, 0};
  // The process as a whole has made such a mistake, not the code that has changed a label.
  const bool of_process = rule_of(finding.rule).about == RuleSubject::kProcess;
  if (of_process) subject.clear();
  if (!addresses.empty() && !of_process) {
    author = author_index(addresses, process.code());
    const CodePlace place = process.code().place_at(addresses[author]);
    key = {finding.rule, place.module, place.address};
  }
  const auto known = known_.find(key);
  if (known != known_.end()) {
    ++diagnostics_[known->second].count;
    return;
  }
  if (diagnostics_.size() >= kMaxDiagnostics) return;
  known_.emplace(std::move(key), diagnostics_.size());
  Diagnostic& diagnostic = diagnostics_.emplace_back(Diagnostic{finding, std::move(subject)});
  if (of_process) return;
  if (addresses.empty()) {
    diagnostic.set_seen = label_set_text(finding.seen);
    return;
  }
  add_all_places(addresses, author, process.code(), diagnostic);
  diagnostic.instruction = process.instruction_text(addresses.front());
  LabelSetTexts sets = label_set_texts(finding.before, finding.seen, finding.after);
  diagnostic.set_before = std::move(sets.before);
  diagnostic.set_seen = std::move(sets.seen);
  diagnostic.set_after = std::move(sets.after);
}

std::vector<Diagnostic> StepFindings::take() {
  std::ranges::stable_sort(diagnostics_, {}, &Diagnostic::rule);
  known_.clear();
  return std::move(diagnostics_);
}

}  // namespace labelscope::cli
