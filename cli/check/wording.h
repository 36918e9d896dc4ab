// Sentences that several formats share. Everything that comes from a target is escaped, so that the
// result is safe on a terminal and is valid UTF-8 without control characters.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/check/verdict.h"
#include "findings/check_rule.h"

namespace labelscope::cli {

// "set_labels (writer.c:42)", "set_labels (libx.so+0x1234)", "libx.so+0x1234".
std::string place_text(const CodePlace& place);

// Returns what was found, in one line: the clause, the count, and the thread if it was in one.
std::string found_text(const Diagnostic& diagnostic);

// Returns the rest of it, a line each: sets, place and callers, instruction, fix. The lines are not
// indented.
std::vector<std::string> detail_lines(const Diagnostic& diagnostic);

// Returns the place that the author should read. If its source line is not known, it is the
// innermost caller whose line is; null if there is none.
const CodePlace* source_place(const Diagnostic& diagnostic);

// Returns the file at which a finding is shown: the source, or else the module, or else the subject
// if that is a file. Empty if there is none.
std::string shown_file(const CheckedSubject& subject, const Diagnostic& diagnostic);

// Returns why it could not be checked: "build/lib.so: a directory below it ...".
std::string gap_text(const CheckGap& gap);
std::string problem_text(const CheckProblem& problem);
std::string gone_text(const BaselineEntry& entry);

// Returns a path as tools of a repository want it: relative to the top folder, which is where they
// run. It has no "./", "//" and "x/..", and is relative if it lies below the current directory. Two
// names of one file give the same text, as far as that can be known from the names.
std::string source_path(std::string_view path);

// Returns the same as a URI reference (RFC 3986): percent-encoded, absolute paths with file://.
std::string source_uri(std::string_view path);

// Returns the text with each of these strings replaced by the other one, wherever it occurs.
std::string replaced(
    std::string_view text,
    std::initializer_list<std::pair<std::string_view, std::string_view>> replacements);

// Returns the list of check --rules: a line for each rule.
std::string list_rules(bool color);
// One rule with all that is known of it: paragraphs, in lines of at most 80 columns.
std::string explain_rule(const Rule& rule);
// Returns a JSON array with everything about these rules.
std::string render_rules_json(std::span<const Rule* const> rules);

}  // namespace labelscope::cli
