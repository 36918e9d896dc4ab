// What loading any of our BPF objects needs: libbpf's failures as errors, and what the running
// kernel has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "bpf/libbpf_log.h"
#include "labelscope/result.h"

struct bpf_object;

namespace labelscope {

// Says which capability, limit or kernel feature is missing (kPermission, kLimit, kUnsupported).
// kSystem: the verifier's last lines on a program that it refused, whatever the number, or libbpf's
// own last words.
Error load_error(int negative_errno, const LibbpfLog& log);

// For each of these names whether the kernel's own types have a function of it; nothing: they
// cannot be read. Ask for all at once, since to read them takes longer than all the rest of a
// start.
std::vector<bool> kernel_has(std::initializer_list<const char*> functions);

// As uname tells: 6001 for Linux 6.1; 0 if it does not say.
unsigned kernel_version();
// "Linux 6.1.0-13-amd64".
std::string kernel_name();

// Inode number of labelscope's own pid namespace; 0: the initial one.
std::uint32_t own_pid_namespace();

// The bits of task->flags that mark threads which run in the kernel alone, though they belong to
// the process (io_uring's).
std::uint32_t worker_flags();

// File descriptor of a map; -1 where the object has none of this name.
int map_fd(const bpf_object* object, const char* name);

// The value of the object's read-only variables, all at once; before it is loaded.
Status set_constants(bpf_object* object, const void* value, std::size_t size);

}  // namespace labelscope
