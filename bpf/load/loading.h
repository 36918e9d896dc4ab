// These helpers load any of labelscope's BPF objects. They keep what libbpf would print, because a
// library prints nothing, and turn libbpf's failures into errors with its last messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "labelscope/result.h"

struct bpf_object;

namespace labelscope {

// Captures libbpf's messages from construction to destruction, then puts the previous printer back.
// Only one exists at a time in a process; the constructor waits until no other exists.
class LibbpfLog {
 public:
  LibbpfLog();
  ~LibbpfLog();
  LibbpfLog(const LibbpfLog&) = delete;
  LibbpfLog& operator=(const LibbpfLog&) = delete;

  // Returns the end of the log on one line, for an error.
  std::string last_words() const;
  // If the kernel's verifier has refused a program, returns its last lines, joined to one;
  // otherwise nothing.
  std::string verdict() const;
};

// Returns which capability, limit or kernel feature is missing (kPermission, kLimit, kUnsupported).
// If the verifier has refused a program, the error is kSystem with the verifier's last lines,
// whatever the errno. Otherwise it is kSystem with libbpf's last messages.
Error load_error(int negative_errno, const LibbpfLog& log);

// Loads the object's programs and maps. Fails as load_error() says, and with kLimit if too few file
// descriptors are left for all of them.
Status load_all(bpf_object* object, const LibbpfLog& log);

// Returns the inode number of labelscope's own pid namespace, or 0 for the initial one.
std::uint32_t own_pid_namespace();

// Returns the file descriptor of a map, or -1 if the object has no map of this name.
int map_fd(const bpf_object* object, const char* name);

// Sets the value of the object's read-only variables, all at once. Call it before the load.
Status set_constants(bpf_object* object, const void* value, std::size_t size);

}  // namespace labelscope
