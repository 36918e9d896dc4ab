// What a finding is recognized by in another run: by the rule and the place, not by what changes
// from run to run (IDs, addresses, lines, label values).
#pragma once

#include <string>
#include <string_view>

#include "cli/check/report.h"

namespace labelscope::cli {

// A subject's name without what changes: a file's path as source_path() has it, and both of
// "process 12 (service)" and "process service" as "process service".
std::string subject_key(std::string_view name);

// Whether it is the name of a process and not of a file.
bool is_process_name(std::string_view name);

// The name under which tools follow a subject from run to run: a file's as it was named, a process
// without its number.
std::string lasting_name(std::string_view name);

// 16 hexadecimal digits: FNV-1a (64 bits) of rule, subject key, and the module's file name and
// function where the finding has a place in code, each with a NUL behind it; of a torn update what
// is said of the set that was seen, too (which key it is about). Findings of one rule in several
// threads are the same finding, and so are those at several instructions of one function, unless
// they tear different things.
std::string fingerprint(const CheckedSubject& subject, const Diagnostic& diagnostic);

}  // namespace labelscope::cli
