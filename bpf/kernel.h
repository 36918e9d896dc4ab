// What differs between kernels, and which way this one gets. All else in bpf/ is the same from
// Linux 5.10 on. docs/kernels.md lists the differences.
//
// BPF programs choose by themselves where libbpf can tell at load time, as ls_has_current_task_btf()
// of thread_pointer.bpf.h does. Where an object would not load, it is compiled several times:
// LS_WITH_RETRY and LS_RETRY_IMPLICIT_ARGUMENT (retry.bpf.h), LS_BPF_LOOP (walk_labels.bpf.h).
//
// A new work-around is a line of that list, a function here, and one call of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/result.h"

struct bpf_link;
struct bpf_program;

namespace labelscope {

// "Linux 6.1.0-13-amd64".
std::string kernel_name();

// For each name, whether the kernel's BTF has a function of that name. Empty: the BTF cannot be
// read. Ask for all names in one call: to read the BTF takes longer than the whole rest of a start.
std::vector<bool> kernel_has(std::initializer_list<const char*> functions);

// The bits of task->flags that mark io_uring's threads: they belong to the process, but run in the
// kernel only.
std::uint32_t worker_flags();

// The sampler's BPF programs, compiled for some kernels.
struct SamplerObject {
  const void* (*bytes)(std::size_t* size);
  bool retries;
};
SamplerObject plain_sampler();
// Repeats reads, in the way that this kernel has. kUnsupported: it has none.
Result<SamplerObject> retrying_sampler();

// Lets a BPF program run at each overflow of a perf event.
Status attach_to_event(int event_fd, int program_fd);

// Attaches a task iterator that visits this process, and others where the kernel cannot but.
bpf_link* attach_iterator(bpf_program* program, Pid pid);
// Why the task iterators cannot be had: the reason, if it is this kernel; else `error`.
Error iterator_error(Error error);

}  // namespace labelscope
