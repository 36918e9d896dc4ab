// What a test needs of the kernel and of who runs it, asked before anything is tried: only what is
// asked for here is a reason to skip. An error that comes back from labelscope is a failure.
#pragma once

#include <string>

namespace labelscope::test {

// CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN, in the initial user namespace: to load and to sample.
void skip_without_bpf();

// To stop processes that the test has started.
void skip_without_ptrace();

// `version`: 5018 for Linux 5.18. `without`: what an older one cannot do, as the end of a sentence
// that begins with the kernel's name.
void skip_before_linux(unsigned version, const std::string& without);

// skip_without_bpf(), and a kernel whose iterators can read another process.
void skip_without_bpf_snapshot();

}  // namespace labelscope::test
