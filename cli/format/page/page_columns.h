// The data of the page: a profile as columns, small enough for a million samples in one file.
#pragma once

#include <cstdint>
#include <string>

#include "cli/profile/profile.h"

namespace labelscope::cli {

struct PageColumns {
  std::string bytes;          // as page_columns.cc describes them; not compressed
  std::uint64_t tick_ns = 0;  // unit of the column sample.time; 0: no sample has a time
  std::uint64_t rows = 0;     // number of rows in the columns of samples; equal samples share one
};

// The profile must pass check_tables().
PageColumns page_columns(const Profile& profile);

}  // namespace labelscope::cli
