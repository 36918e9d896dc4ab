#include "cli/host/rights.h"

#include <cap-ng.h>
#include <dirent.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace labelscope::cli {
namespace {

constexpr unsigned kNone = UINT32_MAX;

struct KeptRight {
  unsigned capability;
  unsigned work;  // kept if any of this work is left
  const char* purpose;
  unsigned stand_in = kNone;  // kept if this one is held instead
};

// The rights that stay, and why. A right that labelscope does not hold is not reported here
// (record/privileges.h says beforehand what a recording lacks). docs/security.md explains the table
// to users.
constexpr KeptRight kKept[] = {
    // Needed for process_vm_readv, for /proc/PID/root, exe and map_files, and to stop threads.
    {CAP_SYS_PTRACE, kReadsTargets, "to look at processes of other users"},
    // A thread that is held does not wait for other programs: labelscope has real-time priority.
    {CAP_SYS_NICE, kStopsThreads, "to hold threads for a short time only, where it stops them"},
    // Some programs and libraries may only be read by their owner. Containers have the other one.
    {CAP_DAC_READ_SEARCH, kReadsTargets | kReadsFiles,
     "to read programs that only their owner may read", CAP_DAC_OVERRIDE},
    // Needed to open an entry of /proc/PID/map_files, which is the mapped file, even if another
    // file has its name now.
    {CAP_CHECKPOINT_RESTORE, kReadsTargets,
     "to open the very files that are mapped, also replaced ones"},
    // If kernel.perf_event_paranoid is 2 or more, only this right shows addresses in
    // /proc/kallsyms.
    {CAP_SYSLOG, kNamesKernel, "to name functions of the kernel"},
    // Needed for bpf(2). If stacks are unwound by call frame information, each 1 MiB of it are a
    // map that is made on demand. Before Linux 5.19 the kernel asks for the capability with every
    // look-up in a map if kernel.unprivileged_bpf_disabled is set.
    {CAP_BPF, kLoadsBpf | kUsesBpfMaps, "to load BPF programs", CAP_SYS_ADMIN},
    // Needed for BPF programs that read memory.
    {CAP_PERFMON, kLoadsBpf, "to sample, and to read memory from BPF programs", CAP_SYS_ADMIN},
    // Needed to pass Ctrl-C and SIGTERM on, and to end a worker that has become nobody.
    {CAP_KILL, kSignalsCommand | kStartsWorkers, "to pass signals on to the command"},
    // A worker of root becomes the user nobody. The user root could be given up only together with
    // the files that labelscope itself still has to read.
    {CAP_SETUID, kStartsWorkers, "to read foreign files as nobody"},
    {CAP_SETGID, kStartsWorkers, "to read foreign files as nobody"},
    // The file gets its name when it is whole, which is at the end. `sudo labelscope` in the user's
    // own folder is the usual case.
    {CAP_DAC_OVERRIDE, kNamesOutputs, "to write into another user's folder"},
    {CAP_FOWNER, kNamesOutputs, "to replace another user's file"},
};

bool holds(unsigned capability) {
  return capability != kNone && capng_have_capability(CAPNG_EFFECTIVE, capability) == 1;
}

// Other users than root have no right to become nobody: their workers stay theirs.
unsigned work_of(unsigned work, const std::optional<User>& user) {
  return ::geteuid() == 0 && !user ? work : work & ~kStartsWorkers;
}

std::vector<unsigned> kept_of_held(unsigned work) {
  std::vector<unsigned> kept;
  for (const KeptRight& right : kKept) {
    if ((right.work & work) == 0) continue;
    const unsigned stays = holds(right.capability) ? right.capability : right.stand_in;
    if (holds(stays)) kept.push_back(stays);
  }
  return kept;
}

#ifdef __SANITIZE_THREAD__
constexpr std::size_t kOwnThreads = 2;  // the sanitizer has a thread of its own
#else
constexpr std::size_t kOwnThreads = 1;
#endif

constexpr std::chrono::milliseconds kThreadEnds{500};

std::size_t count_threads() {
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(::opendir("/proc/self/task"), &::closedir);
  std::size_t count = 0;
  while (const dirent* entry = tasks ? ::readdir(tasks.get()) : nullptr) {
    count += entry->d_name[0] != '.' ? 1 : 0;
  }
  return count;
}

Error cannot(const std::string& what) {
  return system_error(errno, "labelscope cannot give up its rights: " + what);
}

// Makes `kept` the process's whole set, as libcap-ng keeps it. A worker has, until it seals itself,
// what is in the bounding set as well: it is executed.
void choose(const std::vector<unsigned>& kept, capng_type_t types, bool starts_workers) {
  capng_clear(CAPNG_SELECT_ALL);
  for (const unsigned capability : kept) capng_update(CAPNG_ADD, types, capability);
  for (const unsigned capability : {CAP_SETUID, CAP_SETGID}) {
    const bool stays = starts_workers && std::ranges::find(kept, capability) != kept.end();
    if (stays) capng_update(CAPNG_ADD, CAPNG_BOUNDING_SET, capability);
  }
}

constexpr auto kBoth = static_cast<capng_type_t>(CAPNG_EFFECTIVE | CAPNG_PERMITTED);

// Returns whether `ask` returns true without the rights that would go; they are put aside for the
// moment.
Result<bool> holds_without(const std::vector<unsigned>& kept, const std::function<bool()>& ask) {
  void* all = capng_save_state();
  for (unsigned capability = 0; capability <= CAP_LAST_CAP; ++capability) {
    capng_update(CAPNG_DROP, CAPNG_EFFECTIVE, capability);
  }
  for (const unsigned capability : kept) capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, capability);
  const bool put_aside = capng_apply(CAPNG_SELECT_CAPS) == 0;
  const bool answer = put_aside && ask();
  capng_restore_state(&all);
  if (!put_aside || capng_apply(CAPNG_SELECT_CAPS) != 0) return cannot("capset");
  return answer;
}

// Reads the rights back, and trusts only that.
Status verify(const std::vector<unsigned>& kept, const std::optional<User>& user) {
  if (capng_get_caps_process() != 0) return cannot("they cannot be read back");
  for (unsigned capability = 0; capability <= CAP_LAST_CAP; ++capability) {
    const bool wanted = std::find(kept.begin(), kept.end(), capability) != kept.end();
    for (const auto set : {CAPNG_EFFECTIVE, CAPNG_PERMITTED, CAPNG_INHERITABLE, CAPNG_AMBIENT}) {
      const bool has = capng_have_capability(set, capability) == 1;
      if (has == (wanted && (set == CAPNG_EFFECTIVE || set == CAPNG_PERMITTED))) continue;
      const char* name = capng_capability_to_name(capability);
      return Error{ErrorCode::kSystem,
                   std::string("labelscope cannot give up its rights: after that, cap_") +
                       (name != nullptr ? name : "?") + (has ? " is still there" : " is missing")};
    }
  }
  uid_t uids[3];
  gid_t gids[3];
  if (::getresuid(&uids[0], &uids[1], &uids[2]) != 0 ||
      ::getresgid(&gids[0], &gids[1], &gids[2]) != 0) {
    return cannot("getresuid");
  }
  for (int i = 0; user && i < 3; ++i) {
    if (uids[i] == user->uid && gids[i] == user->gid) continue;
    return Error{ErrorCode::kSystem, "labelscope did not become the user " + user->name};
  }
  if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return {};
  return cannot("NoNewPrivs is not set");
}

}  // namespace

bool has_lent_rights() {
  if (::getuid() == 0 || ::geteuid() == 0 || capng_get_caps_process() != 0) return false;
  bool holds_any = false;  // effective or not
  for (unsigned capability = 0; capability <= CAP_LAST_CAP; ++capability) {
    holds_any |= capng_have_capability(CAPNG_PERMITTED, capability) == 1;
  }
  return holds_any;
}

// Only the effective set changes, so the rights come back.
UsersOwnRights::UsersOwnRights() {
  if (!has_lent_rights()) return;
  for (unsigned capability = 0; capability <= CAP_LAST_CAP; ++capability) {
    capng_update(CAPNG_DROP, CAPNG_EFFECTIVE, capability);
  }
  capng_apply(CAPNG_SELECT_CAPS);
}

UsersOwnRights::~UsersOwnRights() {
  if (!has_lent_rights()) return;
  for (unsigned capability = 0; capability <= CAP_LAST_CAP; ++capability) {
    if (capng_have_capability(CAPNG_PERMITTED, capability) == 1) {
      capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, capability);
    }
  }
  capng_apply(CAPNG_SELECT_CAPS);
}

std::vector<RightHeld> rights_for(unsigned work) {
  std::vector<RightHeld> rights;
  work = work_of(work, std::nullopt);
  if (capng_get_caps_process() != 0) return rights;
  for (const KeptRight& right : kKept) {
    if ((right.work & work) == 0) continue;
    const bool stands_in = !holds(right.capability) && holds(right.stand_in);
    const unsigned shown = stands_in ? right.stand_in : right.capability;
    const char* name = capng_capability_to_name(shown);
    rights.push_back({std::string("cap_") + (name != nullptr ? name : "?"), right.purpose,
                      holds(shown), capng_have_capability(CAPNG_BOUNDING_SET, shown) == 1});
  }
  return rights;
}

std::optional<User> find_user(const std::string& name_or_number) {
  const passwd* found = ::getpwnam(name_or_number.c_str());
  uid_t number = 0;
  const char* end = name_or_number.data() + name_or_number.size();
  const auto parsed = std::from_chars(name_or_number.data(), end, number);
  if (found == nullptr && parsed.ec == std::errc{} && parsed.ptr == end) found = ::getpwuid(number);
  if (found == nullptr) return std::nullopt;
  return User{found->pw_uid, found->pw_gid, found->pw_name};
}

Status drop_rights(unsigned work, const std::optional<User>& user,
                   const std::function<bool()>& can_name_outputs) {
  // Each thread has its own capabilities, and only those of this thread are dropped here. A thread
  // that has ended is listed for a moment longer than pthread_join(3) waits.
  const auto deadline = std::chrono::steady_clock::now() + kThreadEnds;
  while (count_threads() > kOwnThreads) {
    if (std::chrono::steady_clock::now() < deadline) {
      ::usleep(100);
      continue;
    }
    return Error{ErrorCode::kSystem, "labelscope cannot give up its rights: it has other threads"};
  }
  if (capng_get_caps_process() != 0) return cannot("they cannot be read");
  work = work_of(work, user);
  std::vector<unsigned> kept = kept_of_held(work);
  // With lent rights an output is opened, and named, by the user's own.
  if (can_name_outputs && !has_lent_rights()) {
    auto held = holds_without(kept, can_name_outputs);
    if (!held) return std::move(held).error();
    if (!*held) kept = kept_of_held(work | kNamesOutputs);
  }
  const bool other_user = user && (user->uid != ::geteuid() || user->uid != ::getuid());
  if (other_user && (!holds(CAP_SETUID) || !holds(CAP_SETGID))) {
    return Error{ErrorCode::kPermission, "labelscope cannot become the user " + user->name +
                                             ": that needs CAP_SETUID and CAP_SETGID (try sudo)"};
  }
  const bool bounds = holds(CAP_SETPCAP);
  choose(kept, kBoth, (work & kStartsWorkers) != 0);
  if (other_user) {
    const auto flags = static_cast<capng_flags_t>(CAPNG_INIT_SUPP_GRP | CAPNG_CLEAR_AMBIENT |
                                                  (bounds ? CAPNG_CLEAR_BOUNDING : 0));
    if (capng_change_id(static_cast<int>(user->uid), static_cast<int>(user->gid), flags) != 0) {
      return cannot("it cannot become the user " + user->name);
    }
  } else {
    // Drop the bounding set while CAP_SETPCAP is held. Without that capability, NoNewPrivs keeps
    // the rest of the bounding set from being used.
    if (bounds && capng_apply(CAPNG_SELECT_BOUNDS) != 0) return cannot("the bounding set");
    if (capng_apply(CAPNG_SELECT_CAPS) != 0) return cannot("capset");
    if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return cannot("prctl");
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return cannot("NoNewPrivs");
  return verify(kept, other_user ? user : std::nullopt);
}

}  // namespace labelscope::cli
