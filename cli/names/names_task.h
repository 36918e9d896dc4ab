// What the worker does with a file: opens it when it is first asked about, and names addresses until
// labelscope says that there are no more (names_messages.h).
#pragma once

#include "cli/worker/worker_main.h"

namespace labelscope::cli {

Answer make_names_task();

}  // namespace labelscope::cli
