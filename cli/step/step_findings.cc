#include "cli/step/step_findings.h"

#include <algorithm>
#include <array>

#include "cli/step/label_set_text.h"

namespace labelscope::cli {
namespace {

// A place further out than this helps nobody, and recursion may be deep.
constexpr std::size_t kMaxPlaces = 32;
// Of one rule; a program that is wrong everywhere is told so without a book.
constexpr std::size_t kMaxDiagnostics = 1000;

// The caller that the author looks at: free() and memcpy() are not to blame.
std::size_t author_index(const std::vector<Address>& addresses, CodeMap& code) {
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (code.is_authors(addresses[i])) return i;
  }
  return 0;
}

void add_places(Address address, CodeMap& code, std::vector<CodePlace>& places) {
  CodePlace place = code.place_at(address);
  const std::vector<SourceLine>& lines = code.lines_at(address);
  places.push_back(place);
  for (std::size_t i = authors_level(lines) + 1; i < lines.size() && places.size() < kMaxPlaces;
       ++i) {
    place.function = source_name(lines[i].function);
    place.file = lines[i].file;
    place.line = static_cast<std::uint32_t>(std::max(lines[i].line, 0));
    places.push_back(place);
  }
}

std::vector<CodePlace> places_of(const std::vector<Address>& addresses, std::size_t author,
                                 CodeMap& code) {
  std::vector<CodePlace> places;
  add_places(addresses[author], code, places);
  // Only the instruction itself of what the author's function called.
  if (author != 0) places.insert(places.begin() + 1, code.place_at(addresses.front()));
  for (std::size_t i = author + 1; i < addresses.size() && places.size() < kMaxPlaces; ++i) {
    add_places(addresses[i], code, places);
  }
  return places;
}

}  // namespace

void StepFindings::add(std::string subject, const UpdateFinding& finding, CodeMap& code,
                       const Breakpoints& memory, const Disassembler& disassembler) {
  const bool has_place = finding.change != nullptr && !finding.change->addresses.empty();
  std::size_t author = 0;
  Key key{finding.rule, {}, 0};
  if (has_place) {
    const std::vector<Address>& addresses = finding.change->addresses;
    author = author_index(addresses, code);
    const CodePlace place = code.place_at(addresses[author]);
    key = {finding.rule, place.module, place.address};
  }
  auto [entry, fresh] = known_.try_emplace(key, diagnostics_.size());
  if (!fresh) {
    ++diagnostics_[entry->second].count;
    return;
  }
  if (diagnostics_.size() >= kMaxDiagnostics) {
    known_.erase(entry);
    return;
  }
  Diagnostic diagnostic;
  diagnostic.rule = finding.rule;
  diagnostic.subject = std::move(subject);
  diagnostic.found = finding.found;
  diagnostic.fix = finding.fix;
  if (has_place) {
    const std::vector<Address>& addresses = finding.change->addresses;
    diagnostic.places = places_of(addresses, author, code);
    std::array<std::byte, kMaxInstructionSize> bytes{};
    const std::size_t size = memory.read(addresses.front(), bytes);
    diagnostic.instruction =
        disassembler.text(addresses.front(), std::span(bytes).first(std::min(size, bytes.size())));
    LabelSetTexts sets = label_set_texts(finding.before, finding.seen, finding.after);
    diagnostic.set_before = std::move(sets.before);
    diagnostic.set_seen = std::move(sets.seen);
    diagnostic.set_after = std::move(sets.after);
  } else {
    diagnostic.set_seen = label_set_text(finding.seen);
  }
  diagnostics_.push_back(std::move(diagnostic));
}

std::vector<Diagnostic> StepFindings::take() {
  std::stable_sort(diagnostics_.begin(), diagnostics_.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.rule < b.rule; });
  known_.clear();
  return std::move(diagnostics_);
}

}  // namespace labelscope::cli
