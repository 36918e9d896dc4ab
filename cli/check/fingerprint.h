// How a finding is recognized in another run: by the rule and the place. IDs, addresses, line
// numbers and label values change from run to run, so they do not count.
#pragma once

#include <string>
#include <string_view>

#include "cli/check/report.h"

namespace labelscope::cli {

// A subject's name without the parts that change. For a file: its path, as source_path() makes it.
// For a process: "process service", made of "process 12 (service)" or "process service".
std::string subject_key(std::string_view name);

// Whether this is the name of a process, not of a file.
bool is_process_name(std::string_view name);

// The name under which tools follow a subject from run to run: a file as the user named it, a
// process without its number.
std::string lasting_name(std::string_view name);

// 16 hexadecimal digits: FNV-1a (64 bits) of these, each followed by a NUL:
//   - the rule and the subject key;
//   - if the finding has a place in code: the module's file name and the function;
//   - for a torn update: what it says of the set that was seen (which key it is about).
// So findings of one rule in several threads are one finding, and so are those at several
// instructions of one function, unless they tear different things.
std::string fingerprint(const CheckedSubject& subject, const Diagnostic& diagnostic);

}  // namespace labelscope::cli
