// One thread's labels in words: "tenant=42", where they come from if there are several publishers,
// and what else is to be said about them.
#pragma once

#include <string>
#include <vector>

#include "cli/dump/process_dump.h"

namespace labelscope::cli {

struct LabelWord {
  std::string key;     // escaped; empty: `text` is a remark of ours
  std::string text;    // escaped value, with its source; or the remark
  bool warns = false;  // something is wrong, not only absent
};

// Never empty: a thread without labels has a remark that says so.
std::vector<LabelWord> label_words(const ProcessDump& dump, const ThreadSnapshot& thread);

}  // namespace labelscope::cli
