// Counts how many instructions the verifier of the running kernel looks at before it accepts each
// of our programs. Its limit is a million, and a program that fits on one kernel may not fit on the
// next. The numbers are printed as facts, from which docs/kernels.md is made. So are the
// instructions of each program, and the calls of helper functions in its code
// (tests/bench/stable_costs.py).
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/kernel_version.h"
#include "bpf/load/kernel.h"
#include "bpf/load/loading.h"
#include "bpf/wire/snapshot_wire.h"
#include "bpf/wire/wire.h"
#include "kernel/sampling.h"
#include "sampler_bpf.skel.h"
#include "sampler_retry_bpf.skel.h"
#include "sampler_retry_implicit_bpf.skel.h"
#include "sampler_retry_implicit_unwind_bpf.skel.h"
#include "sampler_retry_unwind_bpf.skel.h"
#include "sampler_unwind_bpf.skel.h"
#include "support/catch.h"
#include "support/rights.h"
#include "task_snapshot_bpf.skel.h"

namespace labelscope::test {
namespace {

// This is BPF_COMPLEXITY_LIMIT_INSNS, since Linux 5.2.
constexpr unsigned long kPatience = 1'000'000;
// This is BPF_LOG_STATS, since Linux 5.2, which logs only the last line, with the numbers.
constexpr unsigned kStatistics = 4;
constexpr std::size_t kLogBytes = 1 << 16;

struct ElfBytes {
  const void* bytes = nullptr;
  std::size_t size = 0;
};

// Reads the line "processed 4711 insns (limit 1000000) ..."
std::optional<unsigned long> processed(const std::string& log) {
  unsigned long count = 0;
  const std::size_t at = log.find("processed ");
  if (at == std::string::npos || std::sscanf(log.c_str() + at, "processed %lu insns", &count) != 1)
    return std::nullopt;
  return count;
}

struct ProgramCosts {
  unsigned long verified = 0;
  unsigned long instructions = 0;
  unsigned long helper_calls = 0;
};

unsigned long count_helper_calls(const bpf_program* program) {
  const bpf_insn* instructions = bpf_program__insns(program);
  return static_cast<unsigned long>(std::count_if(
      instructions, instructions + bpf_program__insn_cnt(program),
      [](const bpf_insn& each) { return each.code == (BPF_JMP | BPF_CALL) && each.src_reg == 0; }));
}

// Loads an object with every feature on, which costs most, and returns the instructions of each
// program by name. An object that is refused fails the test, in the verifier's words.
std::map<std::string, ProgramCosts> costs(const ElfBytes& elf, const void* config,
                                          std::size_t config_size) {
  LibbpfLog log;
  bpf_object* object = bpf_object__open_mem(elf.bytes, elf.size, nullptr);
  REQUIRE(object != nullptr);
  REQUIRE(set_constants(object, config, config_size));
  std::map<std::string, std::vector<char>> logs;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    std::vector<char>& statistics = logs[bpf_program__name(program)];
    statistics.resize(kLogBytes);
    bpf_program__set_log_level(program, kStatistics);
    bpf_program__set_log_buf(program, statistics.data(), statistics.size());
  }
  if (bpf_map* scratch = bpf_object__find_map_by_name(object, "scratch"))
    bpf_map__set_max_entries(scratch, 8);
  const int error = bpf_object__load(object);
  std::map<std::string, ProgramCosts> found;
  if (error == 0) {
    bpf_object__for_each_program(program, object) {
      found[bpf_program__name(program)] = {0, bpf_program__insn_cnt(program),
                                           count_helper_calls(program)};
    }
  }
  bpf_object__close(object);
  if (error != 0) {
    for (const auto& [name, statistics] : logs) UNSCOPED_INFO(name << ": " << statistics.data());
    FAIL(load_error(error, log).context);
  }
  for (const auto& [name, statistics] : logs) {
    const auto count = processed(statistics.data());
    INFO(name << ": " << statistics.data());
    REQUIRE(count);
    found[name].verified = *count;
  }
  return found;
}

void check_costs(const char* object, const std::map<std::string, ProgramCosts>& found) {
  for (const auto& [name, costs] : found) {
    std::printf("FACT: verified/%s/%s %lu\n", object, name.c_str(), costs.verified);
    std::printf("FACT: instructions/%s/%s %lu\n", object, name.c_str(), costs.instructions);
    std::printf("FACT: helper_calls/%s/%s %lu\n", object, name.c_str(), costs.helper_calls);
    INFO(object << ", " << name);
    // Compilers and kernels differ by a few tens of percent.
    CHECK(costs.verified < kPatience / 2);
  }
}

ls_config everything(ls_call_graph call_graph = LS_CALL_GRAPH_FP) {
  ls_config config{};
  config.pid_namespace = 1;
  config.call_graph = call_graph;
  config.kernel_stacks = 1;
  config.follow_children = 1;
  config.worker_flag = worker_flags();
  config.wakeup_bytes = 1 << 16;
  config.blame = 1;
  config.hard_interrupt = hard_interrupt_bits();
  return config;
}

template <class Bytes>
ElfBytes elf_of(Bytes bytes) {
  ElfBytes elf;
  elf.bytes = bytes(&elf.size);
  return elf;
}

}  // namespace

TEST_CASE("program_costs: the verifier lets the sampler in with half its patience left") {
  skip_without_bpf();
  const ls_config config = everything();
  const auto found = costs(elf_of(sampler_bpf__elf_bytes), &config, sizeof config);
  REQUIRE(found.contains("sample"));
  check_costs("sampler", found);
}

TEST_CASE("program_costs: and the sampler that reads again, where the kernel can") {
  skip_without_bpf();
  if (kernel_has({"bpf_task_work_schedule_resume_impl"}) != std::vector{true}) {
    skip_test("reading again with page faults begins with Linux 6.18");
  }
  const ls_config config = everything();
  // The two objects call the kernel's function with an argument that it has lost since, and
  // without.
  const bool implicit = kernel_has({"bpf_task_work_schedule_resume"}) == std::vector{true};
  const ElfBytes elf = implicit ? elf_of(sampler_retry_implicit_bpf__elf_bytes)
                                : elf_of(sampler_retry_bpf__elf_bytes);
  const auto found = costs(elf, &config, sizeof config);
  REQUIRE(found.contains("sample"));
  check_costs("sampler_retry", found);
  // With bpf_loop() the verifier looks at each round once, which saves most of the time at a start.
  const auto plain = costs(elf_of(sampler_bpf__elf_bytes), &config, sizeof config);
  CHECK(found.at("sample").verified < plain.at("sample").verified / 4);
}

TEST_CASE("program_costs: and the samplers that unwind") {
  skip_without_bpf();
  const ls_config config = everything(LS_CALL_GRAPH_DWARF);
  const auto found = costs(elf_of(sampler_unwind_bpf__elf_bytes), &config, sizeof config);
  REQUIRE(found.contains("sample"));
  check_costs("sampler_unwind", found);
  if (kernel_has({"bpf_task_work_schedule_resume_impl"}) != std::vector{true}) return;
  const bool implicit = kernel_has({"bpf_task_work_schedule_resume"}) == std::vector{true};
  const ElfBytes elf = implicit ? elf_of(sampler_retry_implicit_unwind_bpf__elf_bytes)
                                : elf_of(sampler_retry_unwind_bpf__elf_bytes);
  check_costs("sampler_retry_unwind", costs(elf, &config, sizeof config));
}

TEST_CASE("program_costs: and the iterators of a snapshot, where the kernel can") {
  skip_without_bpf();
  skip_before_linux(5018, "cannot take a snapshot through BPF, which begins with Linux 5.18");
  const ls_snapshot_config config{1, worker_flags()};
  const auto found = costs(elf_of(task_snapshot_bpf__elf_bytes), &config, sizeof config);
  REQUIRE(found.contains("read_threads"));
  check_costs("task_snapshot", found);
}

}  // namespace labelscope::test
