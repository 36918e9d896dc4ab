// The tasks of the worker (worker/worker_main.h): a line for each kind of request.
#pragma once

#include <array>

#include "cli/names/demangle.h"
#include "cli/names/function_table.h"
#include "cli/names/names_messages.h"
#include "cli/names/perf_map.h"
#include "cli/unwind/table_messages.h"
#include "cli/unwind/table_worker.h"
#include "cli/worker/worker_main.h"

namespace labelscope::cli {

inline constexpr std::array kWorkerTasks{
    WorkerTask{kNamesTask, make_names_task},         WorkerTask{kPerfMapTask, make_perf_map_task},
    WorkerTask{kFunctionsTask, make_functions_task}, WorkerTask{kDemangleTask, make_demangle_task},
    WorkerTask{kTableTask, make_table_task},
};

}  // namespace labelscope::cli
