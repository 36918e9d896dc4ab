// Tests stacks by call frame information of very unusual processes: each sample has an end with a
// name, nothing takes forever, and other threads keep their stacks.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>
#include <map>
#include <thread>

#include "bpf/wire/unwind_wire.h"
#include "kernel/chain_samples.h"
#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/target_process.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

const SamplerOptions kOptions{
    .frequency_hz = 999, .call_graph = LS_CALL_GRAPH_DWARF, .event = SampledEvent::kClock};

// Computes forever with this value as its stack pointer and frame pointer. The CFA counts from one
// of them. No signal may come.
__attribute__((section("lost_stack"))) [[noreturn]] void spin_by_sp(std::uint64_t value) {
#if defined(__x86_64__)
  asm volatile(
      "mov %0, %%rsp\nmov %0, %%rbp\n.cfi_remember_state\n.cfi_def_cfa %%rsp, 16\n"
      ".cfi_offset %%rip, -8\n1: jmp 1b\n.cfi_restore_state" ::"r"(value));
#else
  asm volatile(
      "mov sp, %0\nmov x29, %0\n.cfi_remember_state\n.cfi_def_cfa 31, 16\n"
      ".cfi_offset 30, -8\n1: b 1b\n.cfi_restore_state" ::"r"(value));
#endif
  __builtin_unreachable();
}
__attribute__((section("lost_stack"))) [[noreturn]] void spin_by_fp(std::uint64_t value) {
#if defined(__x86_64__)
  asm volatile(
      "mov %0, %%rsp\nmov %0, %%rbp\n.cfi_remember_state\n.cfi_def_cfa %%rbp, 16\n"
      ".cfi_offset %%rip, -8\n.cfi_offset %%rbp, -16\n1: jmp 1b\n.cfi_restore_state" ::"r"(value));
#else
  asm volatile(
      "mov sp, %0\nmov x29, %0\n.cfi_remember_state\n.cfi_def_cfa 29, 16\n"
      ".cfi_offset 30, -8\n.cfi_offset 29, -16\n1: b 1b\n.cfi_restore_state" ::"r"(value));
#endif
  __builtin_unreachable();
}

void spin(std::uint64_t value) { value % 3 == 0 ? spin_by_fp(value) : spin_by_sp(value); }

// Some kernels do not return to a thread whose stack pointer is no address at all. One that is
// itself a guest without hardware for that (PVM) sends SIGSEGV at the first interrupt.
bool is_killed_for(std::uint64_t value) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) spin(value);
  clockid_t clock{};
  timespec time{};
  siginfo_t end{};
  REQUIRE(::clock_getcpuclockid(child, &clock) == 0);
  while (end.si_pid == 0 && time.tv_nsec < 50'000'000) {  // some interrupts later
    REQUIRE(::clock_gettime(clock, &time) == 0);
    REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOHANG | WNOWAIT) == 0);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return end.si_pid != 0;
}

std::vector<TakenSample> of_process(const Taken& taken, Pid pid) {
  std::vector<TakenSample> its;
  std::copy_if(taken.samples.begin(), taken.samples.end(), std::back_inserter(its),
               [&](const TakenSample& sample) { return sample.pid == pid; });
  return its;
}

}  // namespace

extern "C" char __start_lost_stack[];
extern "C" char __stop_lost_stack[];

TEST_CASE("unwind: a stack pointer may point anywhere") {
  std::vector<std::uint64_t> values = {0,
                                       1,
                                       8,
                                       4096,
                                       0x1234'5678'9000,
                                       0x7fff'ffff'eff8,
                                       0x7fff'ffff'fff8,
                                       0x8000'0000'0000,
                                       0xffff'8880'0000'0000,
                                       0xffff'ffff'ff60'0000,
                                       0xdead'beef'dead'beef,
                                       ~std::uint64_t{0} - 15,
                                       ~std::uint64_t{0}};
  if (const auto killed = std::erase_if(values, is_killed_for); killed > 0) {
    WARN("this kernel kills a thread for " << killed << " of the stack pointers");
  }
  REQUIRE(values.size() >= 8);
  SampledChild child([&](ChildSide& parent) {
    parent.wait_until_told();
    parent.take();
    std::vector<std::thread> lost;
    for (const std::uint64_t value : values) lost.emplace_back([value] { spin(value); });
    // This is the thread's own stack, but an odd address.
    lost.emplace_back(
        [] { spin_by_sp(reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) | 1); });
    parent.say(lost.size());
    call_at_random(4711, [&] { return parent.told(); });
    _exit(0);  // they never end
  });
  auto sampler = open_sampler(kOptions);
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  child.tell();
  const std::size_t threads = child.hear();
  Taken taken;
  std::map<Tid, std::vector<TakenSample>> lost;
  std::vector<TakenSample> right;
  std::size_t looked_at = 0;
  drain_until(*sampler, taken, [&] {
    for (; looked_at < taken.samples.size(); ++looked_at) {
      const TakenSample& sample = taken.samples[looked_at];
      if (raw(sample.tid) == raw(sample.pid)) {
        right.push_back(sample);
      } else if (!sample.user_stack.empty() &&
                 sample.user_stack[0] >= reinterpret_cast<std::uint64_t>(__start_lost_stack) &&
                 sample.user_stack[0] < reinterpret_cast<std::uint64_t>(__stop_lost_stack)) {
        lost[sample.tid].push_back(sample);
      }
    }
    return lost.size() == threads && complete_in(right) >= 20 &&
           std::all_of(lost.begin(), lost.end(),
                       [](const auto& each) { return each.second.size() >= 3; });
  });
  child.kill();
  stop_and_balance(*sampler, taken);
  for (const auto& [tid, samples] : lost) {
    INFO(ends_of(samples));
    for (const TakenSample& sample : samples) {
      REQUIRE(contradiction(sample).empty());  // its end has a name
      // In the first instructions the stack is still the thread's own.
      if (&sample != &samples.front()) REQUIRE_FALSE(is_complete(sample));
    }
  }
  require_true(right);
}

TEST_CASE("unwind: of 60,000 mappings with code as many are known as there is room for") {
  constexpr std::size_t kMappings = 60'000;
  SampledChild many([](ChildSide& parent) {
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    std::size_t made = 0;
    // All map the same place, so the kernel does not join them into one larger mapping.
    while (made < kMappings &&
           mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) != MAP_FAILED) {
      ++made;
    }
    parent.say(made);
    call_at_random(17, [&] { return parent.told(); });
  });
  SampledChild other([](ChildSide& parent) { call_at_random(18, [&] { return parent.told(); }); });
  const std::size_t made = many.hear();
  if (made < kMappings) skip_test("the kernel allows " + std::to_string(made) + " mappings only");
  auto sampler = open_sampler(kOptions);
  for (const SampledChild* each : {&many, &other}) {
    REQUIRE(sampler->set_process(each->pid(), {&each->recipe(), 1}));
  }
  REQUIRE(sampler->start());
  Taken taken;
  // The samples are so many that torn ones exceed a twentieth of them only if something is wrong.
  drain_until(*sampler, taken, [&] {
    return of_process(taken, many.pid()).size() >= 50 &&
           of_process(taken, other.pid()).size() >= 500;
  });
  const Counters counters = stop_and_balance(*sampler, taken);
  require_true(taken.samples);
  require_complete(of_process(taken, other.pid()), 950);
  CHECK(counters.others[Counter::kUnwindMappingsWithoutRoom] >= kMappings - LS_UNWIND_MAX_MAPPINGS);
}

TEST_CASE("unwind: tables that there is no room for are counted, and stacks end at their files") {
  SampledChild child([](ChildSide& parent) { call_at_random(17, [&] { return parent.told(); }); });
  // Each file needs more than a third of all the room, so two files get theirs.
  SamplerOptions options = kOptions;
  options.unwind_bytes = std::size_t{64} * LS_UNWIND_BLOCK_ROWS * sizeof(std::uint32_t);
  options.build_table = [](UniqueFd file) {
    auto table = build_unwind_table(std::move(file));
    if (!table) return table;
    const auto first = static_cast<std::uint32_t>(table->rows.size());
    table->rows.resize(first + LS_UNWIND_BLOCK_ROWS);
    table->pages.resize(table->pages.size() + 22, {first, LS_UNWIND_BLOCK_ROWS});
    return table;
  };
  auto sampler = open_sampler(options);
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  Taken taken;
  const auto with_end = [&](ls_stack_end end) {
    return std::count_if(taken.samples.begin(), taken.samples.end(),
                         [&](const TakenSample& sample) { return sample.stack_end == end; });
  };
  drain_until(*sampler, taken, [&] { return with_end(LS_STACK_NO_TABLE) >= 50; });
  const Counters counters = stop_and_balance(*sampler, taken);
  INFO(ends_of(taken.samples));
  require_true(taken.samples);
  CHECK(counters.others[Counter::kUnwindTables] == 2);
  CHECK(counters.others[Counter::kUnwindTablesWithoutRoom] >= 1);
}

TEST_CASE("unwind: a static program of musl, most of which is described nowhere") {
  if (::access(paths::kChainProgramMusl, X_OK) != 0) skip_test("musl-gcc is not installed");
  const std::string way = GENERATE("", "fault", "sort");  // the last one through code of musl's
  TargetOptions how;
  how.program = paths::kChainProgramMusl;
  how.arguments = {way, "spin"};
  auto target = TargetProcess::spawn(how);
  REQUIRE(target);
  const auto chain = target->lines().at(0).at("chain").get<std::vector<std::uint64_t>>();
  REQUIRE_FALSE(chain.empty());
  auto sampler = open_sampler(kOptions);
  REQUIRE(sampler->set_process(target->pid(), {}));
  REQUIRE(sampler->start());
  Taken taken;
  drain_until(*sampler, taken, [&] { return taken.samples.size() >= 60; });
  stop_and_balance(*sampler, taken);
  INFO("\"" << way << "\": " << ends_of(taken.samples));
  // The target prints its chain just before it begins to compute, so the first samples may be
  // earlier.
  const TakenSample& last = taken.samples.back();
  auto next = chain.begin();
  for (const std::uint64_t frame : last.user_stack) next += next != chain.end() && frame == *next;
  const auto matched = static_cast<std::size_t>(next - chain.begin());
  INFO(last.user_stack.size() << " frames, " << matched << " of " << chain.size()
                              << " in the chain");
  REQUIRE(last.stack_end > LS_STACK_NOT_WANTED);
  if (way != "sort" || last.stack_end == LS_STACK_ENTRY) {
    CHECK(next == chain.end());
  } else {
    CHECK(matched >= 2);
  }
  // The stack has the current function and the chain as far as it is described. Of musl it has the
  // place where that ends, or the two or three functions that lead to main(); besides, those of a
  // sort, or a signal frame and the function that it interrupts.
  const std::size_t of_musl = last.stack_end == LS_STACK_ENTRY ? 3 : 1;
  CHECK(last.user_stack.size() <= 1 + matched + of_musl +
                                      (way == "fault"  ? 2
                                       : way == "sort" ? 3
                                                       : 0));
}
