// Findings that the user has accepted: those in a file that `check --format json` wrote before.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/check/report.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// A finding is recognized in another run by its rule and its place. IDs, addresses, line numbers
// and label values change from run to run, so they do not count.

// Returns a subject's name without the parts that change. For a file: its path, as source_path()
// makes it. For a process: "process service", made of "process 12 (service)" or "process service".
std::string subject_key(std::string_view name);

// Returns whether this is the name of a process, not of a file.
bool is_process_name(std::string_view name);

// Returns the name under which tools follow a subject from run to run: a file as the user named it,
// a process without its number.
std::string lasting_name(std::string_view name);

// Returns the identity of a finding: 16 hexadecimal digits, FNV-1a (64 bits) of these, each
// followed by a NUL:
//   - the rule and the subject key;
//   - if the finding has a place in code: the module's file name and the function;
//   - for a torn update: which key of the label set it is about.
// So findings of one rule in several threads are one finding, and so are those at several
// instructions of one function, unless they tear different things.
std::string fingerprint(const CheckedSubject& subject, const Diagnostic& diagnostic);

struct BaselineEntry {
  std::string fingerprint;  // fingerprint()
  std::string rule;         // "LS031"
  std::string subject;      // subject_key()
  std::string found;        // text for people
};
using Baseline = std::vector<BaselineEntry>;

// Fails with kMalformed if the text is not the output of check or has an unknown version, and with
// kLimit if it is too large.
Result<Baseline> parse_baseline(std::string_view text);
// Returns the same from a file; it also fails as opening and reading the file do.
Result<Baseline> read_baseline(const std::string& path);

}  // namespace labelscope::cli
