// This explains why the kernel does not let labelscope look at a thread, and what would help. EPERM
// alone has a dozen reasons; the refusal that distinguish them are in /proc, and are gathered after
// the refusal.
//
// Sources: ptrace(2), "Ptrace access mode checking"; the kernel's kernel/ptrace.c
// (__ptrace_may_access, ptrace_attach) and Documentation/admin-guide/LSM/Yama.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope {

struct PtraceRefusal {
  std::string what;     // what was tried, for the sentence: "thread 17"
  int errno_value = 0;  // the errno of ptrace()
  bool ended = false;
  // The thread's tracer; 0 if there is none, and -1 for a tracer outside of labelscope's pid
  // namespace.
  std::int64_t tracer = 0;
  std::string tracer_name;  // bytes
  bool tracer_is_us = false;
  bool own_process = false;  // true for a thread of the calling process itself
  bool traces_us = false;    // true for a thread of traces_this_process()
  bool filtered = false;     // true if a seccomp filter refuses ptrace() whatever its arguments
  bool kernel_thread = false;
  bool may_trace_others = false;  // true if CAP_SYS_PTRACE is effective
  // The thread's real user and group IDs, and labelscope's own. A set-user-ID program has other
  // effective IDs than its user.
  std::uint32_t uid = 0, own_uid = 0;
  std::uint32_t gid = 0, own_gid = 0;
  std::optional<std::uint32_t> other_uid;  // a real, effective or saved ID that is not labelscope's
  std::optional<std::uint32_t> other_gid;  // the same for the group
  bool not_dumpable = false;               // true after PR_SET_DUMPABLE 0
  bool more_capable = false;               // true if it has capabilities that labelscope lacks
  std::optional<bool> other_user_namespace;  // empty if that is not known
  std::optional<int> yama;                   // kernel.yama.ptrace_scope, if there is Yama
};

// Returns whether this process (by its first thread) traces labelscope, or traces one that does: a
// debugger, or strace. If such a one were stopped, it and labelscope would wait for each other for
// ever. The answer may be a few milliseconds old.
bool traces_this_process(Tid process);

PtraceRefusal study_refusal(Tid tid, int errno_value);

// Returns kVanished if the thread has ended, else kPermission: a clause with the reason and the
// smallest fix.
Error explain_refusal(const PtraceRefusal& refusal);

}  // namespace labelscope
