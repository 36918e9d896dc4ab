// All threads of a process, each read once by a BPF task iterator, which stops none of them: the
// way that is left where ptrace is refused (yama, no CAP_SYS_PTRACE, another tracer attached). A
// thread that runs may be read in the middle of an update: its labels are then those before it,
// those after it, or none, as the ABI promises of an interrupted thread; but since it is not
// interrupted, memory that it frees and reuses meanwhile can show as other bytes.
#pragma once

#include "bpf/bpf_process.h"
#include "labelscope/result.h"
#include "labelscope/snapshot.h"

namespace labelscope {

// `plan` is of this process, and becomes part of the snapshot. Its image is the one of
// the process's first answer: kVanished if it has executed another program since. A first thread
// that has ended while others run is listed, with a problem.
Result<ProcessSnapshot> snapshot_by_bpf(const BpfProcess& process, ProcessPlan plan);

// Opens and plans as well. kUnsupported: Linux before 5.18. kPermission: CAP_BPF or CAP_PERFMON is
// missing. kVanished, kNotFound: no such process.
Result<ProcessSnapshot> snapshot_by_bpf(Pid pid);

}  // namespace labelscope
