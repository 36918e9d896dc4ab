// A checked label set as people read it.
#pragma once

#include <string>

#include "labelscope/check_set.h"

namespace labelscope::cli {

// "{http.route=/pay, tenant=42}", "(none)" or "(unreadable)": escaped for a terminal, and cut after
// some hundred characters, with the number of labels that are left out.
std::string label_set_text(const CheckedSet& set);

}  // namespace labelscope::cli
