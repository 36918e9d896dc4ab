// This reads all threads of a process, each once, by a BPF task iterator. It stops no thread, so it
// works if ptrace is refused (yama, no CAP_SYS_PTRACE, another tracer attached).
//
// The price: a thread may run while its labels are read. The ABI promises an interrupting reader
// the labels from before an update, those from after it, or none. But this thread is not
// interrupted: if it frees memory of its labels meanwhile and uses it again, the labels can show
// wrong bytes. Each thread says whether it ran (ThreadSnapshot::ran); one that did not is read as
// if it had been stopped.
#pragma once

#include "bpf/snapshot/bpf_process.h"
#include "labelscope/result.h"
#include "sampling/snapshot.h"

namespace labelscope {

// `plan` must be of this process; it becomes part of the snapshot. Fails with kVanished if the
// process has executed another program since its first answer to `process`. A first thread that has
// ended while others run is listed, with a problem.
Result<ProcessSnapshot> snapshot_by_bpf(const BpfProcess& process, ProcessPlan plan);

}  // namespace labelscope
