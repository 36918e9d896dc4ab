#include "cli/step/step_findings.h"

#include <algorithm>
#include <array>

#include "cli/step/label_set_text.h"

namespace labelscope::cli {
namespace {

// Callers further out do not help, and recursion may be deep.
constexpr std::size_t kMaxPlaces = 32;
// So many diagnostics of one rule are told. A program that is wrong everywhere has enough of them.
constexpr std::size_t kMaxDiagnostics = 1000;

// The innermost place in the author's own code: free() and memcpy() are not to blame.
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
  // Half of the places are for the author's code, however deep the called library is.
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
  Diagnostic diagnostic{finding, std::move(subject)};
  if (has_place) {
    const std::vector<Address>& addresses = finding.change->addresses;
    add_all_places(addresses, author, code, diagnostic);
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
