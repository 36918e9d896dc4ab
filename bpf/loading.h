// Helpers for loading any of our BPF objects: turn libbpf's failures into errors, and ask what the
// running kernel has.
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

// Says which capability, limit or kernel feature is missing (kPermission, kLimit, kUnsupported). If
// the verifier has refused a program, whatever the errno: kSystem with the verifier's last lines.
// Otherwise kSystem with libbpf's last messages.
Error load_error(int negative_errno, const LibbpfLog& log);

// For each name, whether the kernel's BTF has a function of that name. Empty: the BTF cannot be
// read. Ask for all names in one call: to read the BTF takes longer than the whole rest of a start.
std::vector<bool> kernel_has(std::initializer_list<const char*> functions);

// From uname(): 6001 for Linux 6.1; 0 if it is not there.
unsigned kernel_version();
// "Linux 6.1.0-13-amd64".
std::string kernel_name();

// Inode number of labelscope's own pid namespace; 0: the initial one.
std::uint32_t own_pid_namespace();

// The bits of task->flags that mark io_uring's threads: they belong to the process, but run in the
// kernel only.
std::uint32_t worker_flags();

// The file descriptor of a map; -1 if the object has no map of this name.
int map_fd(const bpf_object* object, const char* name);

// Sets the value of the object's read-only variables, all at once. Call it before the load.
Status set_constants(bpf_object* object, const void* value, std::size_t size);

}  // namespace labelscope
