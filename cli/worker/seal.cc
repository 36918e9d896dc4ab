#include "cli/worker/seal.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include "labelscope/unique_fd.h"

namespace labelscope::cli {
namespace {

// "nobody" in all distributions; it owns nothing.
constexpr unsigned kNobody = 65534;
// The last limit: labelscope ends a worker long before. It is for all files of a run together.
constexpr rlim_t kMostProcessorSeconds = 1800;
// `check --step` keeps each file open that a process has loaded.
constexpr rlim_t kMostFiles = 4096;

// A sanitizer reserves terabytes of addresses, and asks the kernel for more than the program does.
#ifdef __has_feature
#define LS_HAS_FEATURE(name) __has_feature(name)
#else
#define LS_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    LS_HAS_FEATURE(address_sanitizer) || LS_HAS_FEATURE(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

class Remarks {
 public:
  void unless(bool done, const char* what) {
    if (!done) remarks_.push_back(std::string(what) + ": " + std::strerror(errno));
  }
  std::vector<std::string> take() { return std::move(remarks_); }

 private:
  std::vector<std::string> remarks_;
};

// After `most` the kernel sends a signal that shows the reason (SIGXCPU for processor time); after
// `grace` more it kills.
bool limit(int resource, rlim_t most, rlim_t grace = 0) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) return false;
  now.rlim_cur = std::min(most, now.rlim_max);
  now.rlim_max = std::min(most + grace, now.rlim_max);
  return ::setrlimit(static_cast<__rlimit_resource>(resource), &now) == 0;
}

// The thread that has started this process may block all signals.
bool can_be_ended_by(int signal) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  return ::sigprocmask(SIG_UNBLOCK, &one, nullptr) == 0;
}

bool be_first_when_memory_is_short() {
  UniqueFd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  return file.valid() && ::write(file.get(), "1000", 4) == 4;
}

void give_up_rights(Remarks& remarks) {
  remarks.unless(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "NoNewPrivs");
  if (::geteuid() == 0) {
    // In a user namespace that has no such user, the process keeps its user.
    // Without this right, no program may be executed that could use the rest (NoNewPrivs).
    capng_get_caps_process();
    const bool bounds = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) == 1;
    capng_clear(CAPNG_SELECT_BOUNDS);
    remarks.unless(!bounds || capng_apply(CAPNG_SELECT_BOUNDS) == 0,
                   "capabilities that may come back");
    remarks.unless(::setgroups(0, nullptr) == 0, "groups");
    remarks.unless(::setresgid(kNobody, kNobody, kNobody) == 0, "the group of root");
    remarks.unless(::setresuid(kNobody, kNobody, kNobody) == 0, "the user root");
  }
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  capng_clear(CAPNG_SELECT_BOTH);
  remarks.unless(capng_apply(CAPNG_SELECT_CAPS) == 0, "capabilities");
}

void limit_resources(std::uint64_t most_memory, Remarks& remarks) {
  if (!kSanitized) remarks.unless(limit(RLIMIT_AS, most_memory), "a limit of memory");
  remarks.unless(can_be_ended_by(SIGXCPU) && limit(RLIMIT_CPU, kMostProcessorSeconds, 1),
                 "a limit of processor time");
  remarks.unless(limit(RLIMIT_FSIZE, 0), "a limit of written files");
  remarks.unless(limit(RLIMIT_NOFILE, kMostFiles), "a limit of open files");
  remarks.unless(limit(RLIMIT_CORE, 0), "no core dump");
  remarks.unless(limit(RLIMIT_NPROC, 0), "a limit of processes");
  remarks.unless(limit(RLIMIT_MEMLOCK, 0), "a limit of locked memory");
}

// Forbids all access to files that Landlock's first two versions know, and allows none. seccomp
// forbids what later versions add.
bool forbid_files() {
  const long version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return false;
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  if (version >= 2) attributes.handled_access_fs |= LANDLOCK_ACCESS_FS_REFER;
  const UniqueFd rules(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  return rules.valid() && ::syscall(SYS_landlock_restrict_self, rules.get(), 0) == 0;
}

// Calls that remain.
constexpr int kAllowedCalls[] = {
    SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(poll),
    SCMP_SYS(ppoll), SCMP_SYS(close), SCMP_SYS(fstat), SCMP_SYS(lseek), SCMP_SYS(munmap),
    SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk), SCMP_SYS(futex), SCMP_SYS(exit),
    SCMP_SYS(exit_group), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(clock_gettime), SCMP_SYS(getrandom), SCMP_SYS(sched_yield), SCMP_SYS(gettid),
    SCMP_SYS(getpid), SCMP_SYS(sysinfo), SCMP_SYS(restart_syscall)};
// Calls with which libdw looks for files: they fail, and the worker continues.
constexpr int kRefusedCalls[] = {
    SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(openat2), SCMP_SYS(access), SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(statx), SCMP_SYS(readlink),
    SCMP_SYS(readlinkat), SCMP_SYS(getcwd)};

// Some calls remain, and some fail: those with which libdw looks for files, or libc prints why it
// dies. Any other call ends the process.
Status forbid_calls() {
  const std::unique_ptr<void, void (*)(scmp_filter_ctx)> filter(
      seccomp_init(kSanitized ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_KILL_PROCESS), seccomp_release);
  if (!filter) return Error{ErrorCode::kSystem, "seccomp cannot be set up (libseccomp)"};
  scmp_filter_ctx context = filter.get();
  int failed = 0;
  const auto rule = [&](std::uint32_t action, int call, auto... conditions) {
    const int result =
        seccomp_rule_add(context, action, call, sizeof...(conditions), conditions...);
    if (failed == 0) failed = result;
  };
  const auto where = [](unsigned argument, scmp_compare compare, scmp_datum_t value) {
    return scmp_arg_cmp{argument, compare, value, 0};
  };
  for (const int call : kAllowedCalls) rule(SCMP_ACT_ALLOW, call);
  for (const int call : kRefusedCalls) rule(SCMP_ACT_ERRNO(EACCES), call);
  // A sanitizer asks the kernel whether memory can be read: by writing it to a pipe.
  for (const int call : {SCMP_SYS(write), SCMP_SYS(writev)}) {
    rule(kSanitized ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EACCES), call);
  }
  // fstat() of glibc 2.33 and later makes this call. seccomp cannot see that the path is empty, and
  // Landlock does not forbid to ask whether a file exists. So the worker can do that:
  // docs/security.md.
  rule(SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), where(3, SCMP_CMP_EQ, AT_EMPTY_PATH));
  rule(SCMP_ACT_ERRNO(EACCES), SCMP_SYS(newfstatat), where(3, SCMP_CMP_NE, AT_EMPTY_PATH));
  // libelf checks whether a descriptor is open; an unwind table is built with copies of one.
  rule(SCMP_ACT_ALLOW, SCMP_SYS(fcntl), where(1, SCMP_CMP_EQ, F_GETFD));
  rule(SCMP_ACT_ALLOW, SCMP_SYS(fcntl), where(1, SCMP_CMP_EQ, F_GETFL));
  rule(SCMP_ACT_ALLOW, SCMP_SYS(fcntl), where(1, SCMP_CMP_EQ, F_DUPFD_CLOEXEC));
  rule(SCMP_ACT_ALLOW, SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
  rule(SCMP_ACT_ALLOW, SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
  // abort() needs it to end with SIGABRT.
  rule(SCMP_ACT_ALLOW, SCMP_SYS(tgkill),
       where(0, SCMP_CMP_EQ, static_cast<scmp_datum_t>(::getpid())));
  // It gives back the precedence over other programs that it has at first (own_process.h).
  // Its own thread alone: 0 is also the number of all processes of its user.
  for (const int call : {SCMP_SYS(getpriority), SCMP_SYS(setpriority)}) {
    rule(SCMP_ACT_ALLOW, call, where(0, SCMP_CMP_EQ, PRIO_PROCESS), where(1, SCMP_CMP_EQ, 0));
  }
  if (kSanitized) {
    for (const int call : {SCMP_SYS(sigaltstack), SCMP_SYS(rt_sigaction), SCMP_SYS(prctl),
                           SCMP_SYS(sched_getaffinity), SCMP_SYS(nanosleep),
                           SCMP_SYS(clock_nanosleep), SCMP_SYS(pipe2)}) {
      rule(SCMP_ACT_ALLOW, call);
    }
  }
  if (failed == 0) failed = seccomp_load(context);
  if (failed == 0) return {};
  return system_error(-failed, "seccomp refuses");
}

}  // namespace

Result<std::vector<std::string>> seal_this_process(std::uint64_t most_memory) {
  Remarks remarks;
  remarks.unless(be_first_when_memory_is_short(), "being the first to go when memory is short");
  give_up_rights(remarks);
  remarks.unless(forbid_files(), "Landlock");
  // Changing the user resets both, so set them afterwards.
  remarks.unless(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "being closed to debuggers");
  remarks.unless(::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0, "ending with labelscope");
  limit_resources(most_memory, remarks);
  if (Status status = forbid_calls(); !status) return std::move(status).error();
  return remarks.take();
}

}  // namespace labelscope::cli
