#include "bpf/unwind/stack_tables.h"

#include "bpf/unwind/unwind_processes.h"
#include "bpf/unwind/unwind_tables.h"

namespace labelscope {

Result<std::unique_ptr<StackTables>> StackTables::open(const SamplerOptions& options,
                                                       const bpf_object* object,
                                                       ExecCount exec_count) {
  if (options.call_graph != LS_CALL_GRAPH_DWARF) return std::make_unique<StackTables>();
  auto tables = UnwindTables::open(object, options.unwind_bytes);
  if (!tables) return std::move(tables).error();
  auto build = options.build_table;
  if (!build) build = [](UniqueFd file) { return build_unwind_table(std::move(file)); };
  return std::unique_ptr<StackTables>(std::make_unique<UnwindProcesses>(
      *std::move(tables), std::move(build), std::move(exec_count)));
}

}  // namespace labelscope
