// Checked label sets as text for people.
#pragma once

#include <string>

#include "sources/check_set.h"

namespace labelscope::cli {

// Returns "{http.route=/pay, tenant=42}", "(none)" or "(unreadable)": escaped for a terminal, and
// cut after some hundred characters, with the number of labels that are left out.
std::string label_set_text(const CheckedSet& set);

// The sets around an update, for comparison. If one of them is too large to be shown whole, the
// labels that the others do not have come first, and a value is shown from where it differs.
struct LabelSetTexts {
  std::string before, seen, after;
};
LabelSetTexts label_set_texts(const CheckedSet& before, const CheckedSet& seen,
                              const CheckedSet& after);

}  // namespace labelscope::cli
