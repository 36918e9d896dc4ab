// Every rendering ends with this check: has the stream taken all of it?
#pragma once

#include <ostream>

#include "labelscope/result.h"

namespace labelscope::cli {

inline Status flush_output(std::ostream& out) {
  out.flush();
  if (out) return {};
  return Error{ErrorCode::kSystem,
               "the output did not take every byte (a full disk, or a reader that went away)"};
}

}  // namespace labelscope::cli
