#include "cli/check/wording.h"

#include "cli/check/fingerprint.h"
#include "cli/format/escape.h"
#include "cli/format/text.h"

namespace labelscope::cli {
namespace {

void add_line(std::vector<std::string>& lines, const char* what, const std::string& text) {
  if (!text.empty()) lines.push_back(what + text);
}

}  // namespace

std::string place_text(const CodePlace& place) {
  std::string raw =
      (place.module.empty() ? std::string("?") : escape_terminal(base_name(place.module))) + "+" +
      hex(place.address);
  if (place.function.empty()) return raw;
  const std::string where = place.file.empty() ? raw
                                               : escape_terminal(base_name(place.file)) + ":" +
                                                     std::to_string(place.line);
  return escape_terminal(place.function) + " (" + where + ")";
}

std::string found_text(const Diagnostic& diagnostic) {
  std::string text = escape_terminal(diagnostic.text);
  if (diagnostic.subject.starts_with("thread ")) {
    text += " (" + escape_terminal(diagnostic.subject);
    text += diagnostic.count > 1 ? ", " + std::to_string(diagnostic.count) + " times)" : ")";
  } else if (diagnostic.count > 1) {
    text += " (" + std::to_string(diagnostic.count) + " times)";
  }
  return text;
}

std::vector<std::string> detail_lines(const Diagnostic& diagnostic) {
  std::vector<std::string> lines;
  // Escaped by whoever made them; once more does no harm.
  add_line(lines, "before  ", escape_terminal(diagnostic.set_before));
  add_line(lines, "seen    ", escape_terminal(diagnostic.set_seen));
  add_line(lines, "after   ", escape_terminal(diagnostic.set_after));
  const char* what = "at      ";
  for (const CodePlace& place : diagnostic.places) {
    lines.push_back(what + place_text(place));
    what = "in      ";
  }
  add_line(lines, "code    ", escape_terminal(diagnostic.instruction));
  add_line(lines, "fix     ", escape_terminal(diagnostic.fix));
  return lines;
}

const CodePlace* source_place(const Diagnostic& diagnostic) {
  for (std::size_t i = diagnostic.author_place; i < diagnostic.places.size(); ++i) {
    const CodePlace& place = diagnostic.places[i];
    if (!place.file.empty() && place.line != 0) return &place;
  }
  return nullptr;
}

std::string shown_file(const CheckedSubject& subject, const Diagnostic& diagnostic) {
  if (const CodePlace* place = source_place(diagnostic)) return place->file;
  for (std::size_t i = diagnostic.author_place; i < diagnostic.places.size(); ++i) {
    if (!diagnostic.places[i].module.empty()) return diagnostic.places[i].module;
  }
  return is_process_name(subject.name) ? std::string() : subject.name;
}

std::string gap_text(const CheckGap& gap) { return gap.name + ": " + escape_terminal(gap.text); }

std::string problem_text(const CheckProblem& problem) {
  return escape_terminal(problem.name) + ": " + escape_terminal(problem.error.context);
}

std::string gone_text(const BaselineEntry& entry) {
  return "the baseline's " + escape_terminal(entry.rule) + " of " + escape_terminal(entry.subject) +
         " was not found again: it can be taken out (" + escape_terminal(entry.found) + ")";
}

}  // namespace labelscope::cli
