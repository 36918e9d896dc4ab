// Tests what the sampler's environment allows: privilege, limits, pid namespaces.
#include <bpf/libbpf.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "bpf/load/kernel.h"
#include "bpf/load/loading.h"
#include "bpf/wire/wire.h"
#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "sampler_bpf.skel.h"
#include "support/catch.h"
#include "support/rights.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

// Runs `body` in a fork, and returns true if it returned true.
bool in_fork(const std::function<bool()>& body) {
  pid_t pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) _exit(body() ? 0 : 1);
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("sampler: without privilege the error names the capabilities") {
  if (geteuid() != 0) skip_test("only root can give up being root");
  REQUIRE(in_fork([] {
    if (setuid(65534) != 0) return false;
    auto sampler = BpfSampler::open({});
    return !sampler && sampler.error().code == ErrorCode::kPermission &&
           sampler.error().context.find("CAP_BPF") != std::string::npos &&
           sampler.error().context.find("CAP_PERFMON") != std::string::npos;
  }));
}

TEST_CASE("sampler: whether programs can be loaded is known without loading the sampler") {
  if (geteuid() != 0) skip_test("only root can give up being root");
  CHECK_FALSE(in_fork([] { return setuid(65534) != 0 || can_load_programs(); }));
  open_sampler();
  CHECK(can_load_programs());
}

TEST_CASE("sampler: a program that the verifier refuses is no missing permission") {
  skip_without_bpf();
  LibbpfLog log;
  std::size_t size = 0;
  const void* bytes = sampler_bpf__elf_bytes(&size);
  bpf_object* object = bpf_object__open_mem(bytes, size, nullptr);
  REQUIRE(object);
  // The map's entries are too small, so the programs write behind them. The error is EACCES, the
  // same as for a missing capability.
  REQUIRE(bpf_map__set_value_size(bpf_object__find_map_by_name(object, "counters"), 8) == 0);
  const int error = bpf_object__load(object);
  bpf_object__close(object);
  REQUIRE(error == -EACCES);
  const Error told = load_error(error, log);
  INFO(told.context);
  CHECK(told.code == ErrorCode::kSystem);
  CHECK(told.context.find("verifier") != std::string::npos);
  CHECK(told.context.find("value_size=8") != std::string::npos);
}

TEST_CASE("sampler: a frequency above the kernel's limit is refused by name, 0 too") {
  open_sampler();
  unsigned most = 0;
  std::ifstream("/proc/sys/kernel/perf_event_max_sample_rate") >> most;
  REQUIRE(most > 0);
  auto sampler = BpfSampler::open({.frequency_hz = most + 1});
  REQUIRE_FALSE(sampler);
  REQUIRE(sampler.error().context.find("kernel.perf_event_max_sample_rate") != std::string::npos);
  REQUIRE(sampler.error().context.find("-F " + std::to_string(most) + " or less") !=
          std::string::npos);
  REQUIRE_FALSE(BpfSampler::open({.frequency_hz = 0}));
}

TEST_CASE("sampler: too few file descriptors are named") {
  open_sampler();
  REQUIRE(in_fork([] {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    bool named = true;
    // At some point the limit is enough for the programs and maps, but not for the events.
    for (limit.rlim_cur = 3; limit.rlim_cur < 200 && named; ++limit.rlim_cur) {
      if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
      auto sampler = BpfSampler::open({});
      if (sampler) return limit.rlim_cur > 3;
      named = sampler.error().context.find("ulimit -n") != std::string::npos;
    }
    return named;
  }));
}

TEST_CASE("sampler: pids are those of its own pid namespace") {
  open_sampler();
  REQUIRE(in_fork([] {
    if (unshare(CLONE_NEWPID) != 0) return false;
    return in_fork([] {
      // This is process 1 of a new namespace; the outer /proc still names its namespace.
      SampledChild child([](ChildSide& parent) {
        std::vector<custom_labels_label_t> slots = {label("inside", "yes")};
        publish_labels(slots);
        parent.say(1);
        parent.burn_until_told();
      });
      child.hear();
      // A sanitizer's own thread may have taken a number before the child.
      if (getpid() != 1 || raw(child.pid()) > 4) return false;
      Taken taken;
      sample_some({}, child, taken);
      for (const TakenSample& sample : taken.samples) {
        if (sample.pid != child.pid() || raw(sample.tid) != raw(child.pid())) return false;
        if (sample.seen.labels != LabelSet{{"inside", "yes", 0}}) return false;
      }
      return true;
    });
  }));
}

TEST_CASE("sampler: the kernel's statistics of the program can be read") {
  auto sampler = open_sampler();
  REQUIRE(program_statistics(sampler->program_fd()));
  REQUIRE_FALSE(program_statistics(-1));
}
