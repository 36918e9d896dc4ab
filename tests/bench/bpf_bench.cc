// Loads and runs the programs. libbpf's own messages go to stderr.
#include "bpf_bench.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "bpf/wire/counters.h"
#include "bpf/wire/wire.h"
// This comes last, because it needs the types above.
#include "bench_bpf.skel.h"

namespace labelscope::bench {
namespace {

// This is PROC_PID_INIT_INO of the kernel.
constexpr ino_t kInitialPidNamespace = 0xEFFFFFFC;

Status run_by_hand(int program_fd, const char* what) {
  DECLARE_LIBBPF_OPTS(bpf_test_run_opts, options);
  if (bpf_prog_test_run_opts(program_fd, &options) == 0) return {};
  return system_error(errno, std::string("cannot run the BPF program ") + what);
}

const bpf_program* hot_program(const bench_bpf& skeleton, Part part) {
  switch (part) {
    case Part::kEmpty:
      return skeleton.progs.hot_empty;
    case Part::kFind:
      return skeleton.progs.hot_find;
    case Part::kStack:
      return skeleton.progs.hot_stack;
    case Part::kLabels:
      return skeleton.progs.hot_labels;
    case Part::kBoth:
      return skeleton.progs.hot_both;
    case Part::kNaive:
      return skeleton.progs.hot_naive;
  }
  return nullptr;
}

const bpf_program* event_program(const bench_bpf& skeleton, Part part) {
  switch (part) {
    case Part::kEmpty:
      return skeleton.progs.event_empty;
    case Part::kFind:
      return skeleton.progs.event_find;
    case Part::kStack:
      return skeleton.progs.event_stack;
    case Part::kLabels:
      return skeleton.progs.event_labels;
    case Part::kBoth:
      return skeleton.progs.event_both;
    case Part::kNaive:
      return skeleton.progs.event_naive;
  }
  return nullptr;
}

}  // namespace

std::string_view part_name(Part part) {
  switch (part) {
    case Part::kEmpty:
      return "empty";
    case Part::kFind:
      return "find";
    case Part::kStack:
      return "stack";
    case Part::kLabels:
      return "labels";
    case Part::kBoth:
      return "both";
    case Part::kNaive:
      return "naive labels";
  }
  return "unknown";
}

Result<BpfBench> BpfBench::open() {
  BpfBench bench(bench_bpf__open());
  if (bench.skeleton_ == nullptr) return system_error(errno, "cannot open the BPF programs");
  struct stat own {};
  if (stat("/proc/self/ns/pid", &own) == 0 && own.st_ino != kInitialPidNamespace) {
    bench.skeleton_->rodata->config.pid_namespace = static_cast<std::uint32_t>(own.st_ino);
  }
  const int cpus = libbpf_num_possible_cpus();
  if (cpus < 0) return system_error(-cpus, "cannot find out how many CPUs there are");
  bpf_map__set_max_entries(bench.skeleton_->maps.scratch, static_cast<std::uint32_t>(cpus));
  const int error = bench_bpf__load(bench.skeleton_);
  if (error != 0) return system_error(-error, "cannot load the BPF programs");
  return bench;
}

BpfBench::BpfBench(BpfBench&& other) noexcept
    : skeleton_(std::exchange(other.skeleton_, nullptr)) {}

BpfBench::~BpfBench() { bench_bpf__destroy(skeleton_); }

Status BpfBench::set_process(Pid pid, const ls_tls_recipe& recipe) {
  ls_process process{};
  process.pid = process.pid_again = static_cast<std::uint32_t>(raw(pid));
  process.recipes.count = 1;
  process.recipes.recipe[0] = recipe;
  const int fd = bpf_map__fd(skeleton_->maps.processes);
  if (bpf_map_update_elem(fd, &pid, &process, BPF_ANY) == 0) return {};
  return system_error(errno, "cannot write to the map of processes");
}

Result<double> BpfBench::run(Part part) {
  const int fd = bpf_program__fd(hot_program(*skeleton_, part));
  if (Status status = run_by_hand(fd, part_name(part).data()); !status) {
    return std::move(status).error();
  }
  return static_cast<double>(result().elapsed_ns) / BENCH_REPETITIONS;
}

const bench_result& BpfBench::result() const { return skeleton_->bss->result; }

int BpfBench::event_program_fd(Part part) const {
  return bpf_program__fd(event_program(*skeleton_, part));
}

Status BpfBench::set_record(std::uint32_t index, const bench_record& record) {
  const int fd = bpf_map__fd(skeleton_->maps.records);
  if (bpf_map_update_elem(fd, &index, &record, BPF_ANY) == 0) return {};
  return system_error(errno, "cannot write to the map of records");
}

Status BpfBench::emit() { return run_by_hand(bpf_program__fd(skeleton_->progs.emit), "emit"); }

int BpfBench::ring_fd() const { return bpf_map__fd(skeleton_->maps.ring); }

Result<UniqueFd> enable_statistics() {
  UniqueFd fd(bpf_enable_stats(BPF_STATS_RUN_TIME));
  if (!fd.valid()) return system_error(errno, "cannot turn on the statistics of BPF programs");
  return fd;
}

Result<ProcessEvent> ProcessEvent::open(Pid pid, std::uint32_t frequency_hz, int program_fd) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.freq = 1;
  attributes.sample_freq = frequency_hz;
  attributes.disabled = 1;
  const long fd = syscall(SYS_perf_event_open, &attributes, raw(pid), -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return system_error(errno, "cannot open a perf event");
  UniqueFd event(static_cast<int>(fd));
  if (ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, program_fd) != 0) {
    return system_error(errno, "cannot give a BPF program to a perf event");
  }
  return ProcessEvent(std::move(event));
}

Status ProcessEvent::enable() {
  if (ioctl(fd_.get(), PERF_EVENT_IOC_ENABLE, 0) == 0) return {};
  return system_error(errno, "cannot enable a perf event");
}

Status ProcessEvent::disable() {
  if (ioctl(fd_.get(), PERF_EVENT_IOC_DISABLE, 0) == 0) return {};
  return system_error(errno, "cannot disable a perf event");
}

__attribute__((noinline)) void at_depth(int depth, const std::function<void()>& work) {
  if (depth > 0) {
    at_depth(depth - 1, work);
  } else {
    work();
  }
  // Without something to do after the call, the compiler would make it a jump, and the frame would
  // be gone.
  __asm__ volatile("");
}

Status pin_to_last_cpu() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return system_error(errno, "cannot find out which CPUs may be used");
  }
  int last = -1;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) last = cpu;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  if (sched_setaffinity(0, sizeof one, &one) == 0) return {};
  return system_error(errno, "cannot stay on one CPU");
}

}  // namespace labelscope::bench
