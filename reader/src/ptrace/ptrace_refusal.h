// Why the kernel does not let us look at a thread, and what would help. EPERM alone has a dozen
// reasons; the facts that tell them apart are in /proc, and are gathered once it has happened.
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

struct RefusalFacts {
  std::string what;     // what was tried, for the sentence: "thread 17"
  int errno_value = 0;  // as ptrace() gave it
  bool ended = false;
  // Its tracer: 0 where there is none. A tracer outside of our pid namespace is -1.
  std::int64_t tracer = 0;
  std::string tracer_name;  // bytes
  bool tracer_is_us = false;
  bool own_process = false;  // a thread of the calling process itself
  bool filtered = false;     // ptrace() is refused whatever its arguments: a seccomp filter
  bool kernel_thread = false;
  bool may_trace_others = false;  // CAP_SYS_PTRACE is effective
  // The thread's user and group, and ours, as the real IDs tell them. A set-user-ID program has
  // other IDs than its user.
  std::uint32_t uid = 0, own_uid = 0;
  std::uint32_t gid = 0, own_gid = 0;
  std::optional<std::uint32_t> other_uid;    // real, effective or saved, and not ours
  std::optional<std::uint32_t> other_gid;    // likewise
  bool not_dumpable = false;                 // PR_SET_DUMPABLE 0
  bool more_capable = false;                 // it holds capabilities that we do not hold
  std::optional<bool> other_user_namespace;  // empty: cannot be told
  std::optional<int> yama;                   // kernel.yama.ptrace_scope, where there is Yama
};

RefusalFacts gather_refusal_facts(Tid tid, int errno_value);

// kVanished where it has ended, else kPermission: a clause with the reason and the smallest fix.
Error explain_refusal(const RefusalFacts& facts);

}  // namespace labelscope
