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

// What was found, in one line: the clause, how often, and in which thread if it was in one.
std::string found_text(const Diagnostic& diagnostic);

// The rest of it, a line each: sets, place and callers, instruction, fix. Without indentation.
std::vector<std::string> detail_lines(const Diagnostic& diagnostic);

// The place that the author looks at or, if its source line is not known, the innermost caller of
// it whose line is; null if there is none.
const CodePlace* source_place(const Diagnostic& diagnostic);

// The file that a finding is shown at: the source, or else the module, or else the subject if that
// is a file. Empty if there is none.
std::string shown_file(const CheckedSubject& subject, const Diagnostic& diagnostic);

// "build/lib.so: a directory below it ...": why it could not be checked.
std::string gap_text(const CheckGap& gap);
std::string problem_text(const CheckProblem& problem);
std::string gone_text(const BaselineEntry& entry);

// Paths as tools of a repository want them: relative to its top folder, which is where they run.
// Without "./", "//" and "x/.."; relative where it lies below the current directory. The same file
// named in another way is the same text, as far as the names alone tell.
std::string source_path(std::string_view path);

// That as a URI reference (RFC 3986): percent-encoded, absolute paths with file://.
std::string source_uri(std::string_view path);

// Each of these strings replaced by the other one, wherever it stands.
std::string replaced(
    std::string_view text,
    std::initializer_list<std::pair<std::string_view, std::string_view>> replacements);

// For check --rules: a line for each.
std::string list_rules(bool color);
// One rule with all that helps: paragraphs, in lines of at most 80 columns.
std::string explain_rule(const Rule& rule);
// A JSON array with everything about these rules.
std::string render_rules_json(std::span<const Rule* const> rules);

}  // namespace labelscope::cli
