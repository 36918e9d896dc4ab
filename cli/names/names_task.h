// The worker's task of naming addresses: opens a file at the first request for it, and names
// addresses until labelscope says that there are no more (names_messages.h).
#pragma once

#include "cli/worker/worker_main.h"

namespace labelscope::cli {

Answer make_names_task();

}  // namespace labelscope::cli
