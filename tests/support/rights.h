// What a test needs of the kernel and of its user, checked before anything is tried. Only these
// checks are reasons to skip: an error that labelscope returns is a failure.
#pragma once

#include <string>

namespace labelscope::test {

// Requires CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN, in the initial user namespace, for loading
// and sampling.
void skip_without_bpf();

// Requires the right to stop processes that the test has started.
void skip_without_ptrace();

// `version` is 5018 for Linux 5.18. `without` says what an older kernel cannot do; it ends a
// sentence that begins with the kernel's name.
void skip_before_linux(unsigned version, const std::string& without);

// Requires what skip_without_bpf() does, and a kernel whose iterators can read another process.
void skip_without_bpf_snapshot();

}  // namespace labelscope::test
