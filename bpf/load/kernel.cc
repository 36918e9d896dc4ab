// What differs between kernels is decided here: by the kernel's BTF where that is possible, because
// distributions port features back, and by the version where BTF does not show the difference.
#include "bpf/load/kernel.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/kernel_version.h"
#include "bpf/load/loading.h"
#include "bpf/wire/wire.h"  // for the skeletons
#include "labelscope/unique_fd.h"
#include "sampler_bpf.skel.h"
#include "sampler_retry_bpf.skel.h"
#include "sampler_retry_implicit_bpf.skel.h"
#include "sampler_retry_implicit_unwind_bpf.skel.h"
#include "sampler_retry_unwind_bpf.skel.h"
#include "sampler_unwind_bpf.skel.h"

namespace labelscope {

std::string kernel_name() {
  utsname name{};
  return uname(&name) == 0 ? std::string(name.sysname) + " " + name.release : "this kernel";
}

// libbpf would read and parse all 5 MB of types for this, which takes longer than to verify most
// programs. The section with the names is enough: no type of another kind has such a name.
std::vector<bool> kernel_has(std::initializer_list<const char*> functions) {
  const UniqueFd types(::open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC));
  btf_header header{};
  if (::pread(types.get(), &header, sizeof header, 0) != sizeof header ||
      header.magic != BTF_MAGIC) {
    return {};
  }
  std::vector<std::string> wanted;
  for (const char* function : functions) wanted.push_back('\0' + std::string(function) + '\0');
  std::vector<bool> found(wanted.size());
  std::uint64_t at = std::uint64_t{header.hdr_len} + header.str_off;
  std::string names;  // those of the last piece, behind what is left of the piece before
  std::array<char, 65536> piece;
  for (const std::uint64_t end = at + header.str_len; at < end;) {
    const std::size_t most = std::min<std::uint64_t>(piece.size(), end - at);
    const ssize_t got = ::pread(types.get(), piece.data(), most, static_cast<off_t>(at));
    if (got <= 0) return {};
    at += static_cast<std::uint64_t>(got);
    names.append(piece.data(), static_cast<std::size_t>(got));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      // Not names.find(), which would stop at each name: all of them begin behind a zero.
      found[i] = found[i] || ::memmem(names.data(), names.size(), wanted[i].data(),
                                      wanted[i].size()) != nullptr;
    }
    const std::size_t last_end = names.rfind('\0');
    if (last_end != std::string::npos) names.erase(0, last_end);
  }
  return found;
}

Result<std::int64_t> preempt_count_distance() {
  LibbpfLog silence;
  const std::unique_ptr<btf, decltype(&btf__free)> kernel(btf__load_vmlinux_btf(), &btf__free);
  std::optional<std::int64_t> queue;
  std::optional<std::int64_t> count;
  const int section =
      kernel ? btf__find_by_name_kind(kernel.get(), ".data..percpu", BTF_KIND_DATASEC) : -1;
  if (section > 0) {
    const btf_type* variables = btf__type_by_id(kernel.get(), static_cast<std::uint32_t>(section));
    const std::span entries(btf_var_secinfos(variables), btf_vlen(variables));
    for (const btf_var_secinfo& entry : entries) {
      const btf_type* variable = btf__type_by_id(kernel.get(), entry.type);
      const std::string_view name = btf__name_by_offset(kernel.get(), variable->name_off);
      if (name == "runqueues") queue = entry.offset;
      if (name == "__preempt_count") count = entry.offset;
    }
  }
  if (queue && count) return *count - *queue;
  return Error{ErrorCode::kUnsupported,
               "its BTF does not say where the kernel counts interrupts (the per-CPU variables "
               "runqueues and __preempt_count)"};
}

std::uint32_t hard_interrupt_bits() {
  LibbpfLog silence;
  const std::unique_ptr<btf, decltype(&btf__free)> kernel(btf__load_vmlinux_btf(), &btf__free);
  const bool counts_disabling =
      kernel &&
      btf__find_by_name_kind(kernel.get(), "local_interrupt_disable_state", BTF_KIND_VAR) > 0;
  return counts_disabling ? 0x1f000000 : 0x00ff0000;
}

bool has_kernel_types() { return access("/sys/kernel/btf/vmlinux", R_OK) == 0; }

bool can_load_programs() {
  LibbpfLog silence;
  return has_kernel_types() && libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_PERF_EVENT, nullptr) == 1;
}

bool map_access_needs_capability() { return kernel_version() < 5019; }

SamplerObject plain_sampler(bool unwinds) {
  return {unwinds ? &sampler_unwind_bpf__elf_bytes : &sampler_bpf__elf_bytes, false, unwinds};
}

// The function that schedules a repeated read lost one argument and got a new name. A newer kernel
// still has the old name, but with a type that programs compiled for 6.18 do not match. So the new
// name decides.
Result<SamplerObject> retrying_sampler(bool unwinds) {
  constexpr const char* kSchedule = "bpf_task_work_schedule_resume_impl";     // since Linux 6.18
  constexpr const char* kScheduleImplicit = "bpf_task_work_schedule_resume";  // since Linux 7.0
  const std::vector<bool> has = kernel_has({kSchedule, kScheduleImplicit});
  if (has.empty() || !has[0]) {
    return Error{ErrorCode::kUnsupported,
                 std::string("the kernel has no ") + kSchedule + " (Linux 6.18)"};
  }
  if (unwinds) {
    return SamplerObject{has[1] ? &sampler_retry_implicit_unwind_bpf__elf_bytes
                                : &sampler_retry_unwind_bpf__elf_bytes,
                         true, true};
  }
  return SamplerObject{
      has[1] ? &sampler_retry_implicit_bpf__elf_bytes : &sampler_retry_bpf__elf_bytes, true, false};
}

bool has_saved_registers() { return kernel_version() >= 5015; }

// From 5.19 on, a check in bpf_probe_read_user() took a lock that the interrupted code may hold; it
// was removed in 6.3 and in 6.1.27. Debian's name for a kernel does not show which 6.1 it is, but
// its version string does.
std::string danger_of_reading_programs(const std::string& release, const std::string& version) {
  constexpr unsigned kMended = 27;
  const unsigned line = version_of(release.c_str());
  if (line < 5019 || line > 6002) return {};
  unsigned patch = 0;
  for (const std::string* text : {&release, &version}) {
    const std::size_t at = text->find("6.1.");
    unsigned found = 0;
    if (at != std::string::npos && std::sscanf(text->c_str() + at, "6.1.%u", &found) == 1)
      patch = std::max(patch, found);
  }
  if (line == 6001 && patch >= kMended) return {};
  return "Linux " + release +
         " may be one of those (5.19 to 6.1.26, 6.2) that can lock up when a BPF program reads the "
         "memory of a program from a perf event; 6.1.27 and 6.3 are safe, and so is --backend "
         "ptrace";
}

std::string danger_of_reading_programs() {
  utsname name{};
  return uname(&name) == 0 ? danger_of_reading_programs(name.release, name.version) : "";
}

Status attach_to_event(int event_fd, int program_fd) {
  if (ioctl(event_fd, PERF_EVENT_IOC_SET_BPF, program_fd) == 0) return {};
  return system_error(errno, "cannot attach the BPF program to a perf event");
}

bpf_link* attach_iterator(bpf_program* program, Pid pid) {
  bpf_iter_link_info process{};
  process.task.pid = static_cast<std::uint32_t>(raw(pid));
  DECLARE_LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &process,
                      .link_info_len = sizeof(process));
  bpf_link* link = kernel_version() >= 6001 ? bpf_program__attach_iter(program, &options) : nullptr;
  return link ? link : bpf_program__attach_iter(program, nullptr);
}

// This is checked only after a failure, because it takes longer than loading.
Error iterator_error(Error error) {
  if (error.code != ErrorCode::kSystem ||
      kernel_has({"bpf_copy_from_user_task"}) != std::vector{false}) {
    return error;
  }
  return {ErrorCode::kUnsupported,
          kernel_name() +
              " cannot read the memory of another process from a BPF program; Linux 5.18 and later "
              "can (bpf_copy_from_user_task)"};
}

}  // namespace labelscope
