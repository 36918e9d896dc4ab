// Joins several recordings to one.
#pragma once

#include <vector>

#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// Fails with kUnsupported if the two count different values, such as CPU time and wall time, which
// have no sum.
Status check_same_values(const Profile& one, const Profile& other);

// Adds the samples of `from`. Their times are moved so that both recordings keep their places by
// the wall clock. Fails as check_same_values() does.
Status merge(Profile& to, Profile from);

// Adds up rows that have become equal. Rows with a time of their own stay as they are.
void merge_equal_rows(std::vector<SampleRow>& rows);
void merge_equal_waits(std::vector<WaitRow>& rows);

}  // namespace labelscope::cli
