// These functions handle the differences between kernels from Linux 5.10 on. docs/kernels.md lists
// the differences.
//
// If libbpf can decide at load time, one BPF program contains both ways, as
// ls_has_current_task_btf() of thread_pointer.bpf.h does. If code for one kernel would not load on
// another, the object is compiled once for each: LS_WITH_RETRY and LS_RETRY_IMPLICIT_ARGUMENT
// (retry.bpf.h), LS_BPF_LOOP (read_user.bpf.h).
//
// docs/architecture.md ("A work-around for a kernel") lists what a new one needs.
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

// Returns a name like "Linux 6.1.0-13-amd64".
std::string kernel_name();

// Returns for each name whether the kernel's BTF has a function of that name, or nothing if the BTF
// cannot be read. Ask for all names in one call: each reads all names of the kernel's types.
std::vector<bool> kernel_has(std::initializer_list<const char*> functions);

// Returns whether the kernel accepts a program for a perf event from labelscope and describes its
// types (BTF), so that libbpf can adapt programs to it. That is all that can be known of a load
// without loading. Ask before labelscope gives up rights.
bool can_load_programs();
// Returns whether the kernel describes its types, which every program is fitted to.
bool has_kernel_types();

// Returns how many bytes behind a processor's run queue the kernel counts what runs there: code
// that must not be preempted, soft and hard interrupts (blame.bpf.h). kUnsupported if the BTF does
// not show that.
Result<std::int64_t> preempt_count_distance();
// Returns the bits of the kernel's preempt_count that are of hard interrupts, with those of NMIs.
// Kernels that count in it how often interrupts were turned off (local_interrupt_disable(), since
// 7.x, which has a variable of that name) have them eight bits higher.
std::uint32_t hard_interrupt_bits();

// Returns whether bpf(2) requires CAP_BPF for every access to a map that is open already (before
// 5.19).
bool map_access_needs_capability();

// One compiled version of the sampler's BPF programs.
struct SamplerObject {
  const void* (*bytes)(std::size_t* size);
  bool retries;
  bool unwinds;  // true if it takes stacks by call frame information
};
SamplerObject plain_sampler(bool unwinds);
// Returns the version that repeats reads with the function of this kernel, or kUnsupported if the
// kernel has none.
Result<SamplerObject> retrying_sampler(bool unwinds);

// Returns whether the kernel gives BPF programs the place where it has saved the registers of user
// mode (Linux 5.15).
bool has_saved_registers();
// Returns why it may be dangerous to read the memory of programs here, or nothing if no danger is
// known.
std::string danger_of_reading_programs();
// Does the same for a kernel whose uname(2) has this release and version.
std::string danger_of_reading_programs(const std::string& release, const std::string& version);

// Lets a BPF program run at each overflow of a perf event.
Status attach_to_event(int event_fd, int program_fd);

// Attaches a task iterator that visits this process. Before Linux 6.1 it visits all others, too.
bpf_link* attach_iterator(bpf_program* program, Pid pid);
// `error` is why loading failed. Returns that this kernel is too old if that is the cause, else
// `error` unchanged.
Error iterator_error(Error error);

}  // namespace labelscope
