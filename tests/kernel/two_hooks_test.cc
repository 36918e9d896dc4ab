// Tests two programs that take samples on one CPU, one of which interrupts the other. Each sample
// keeps its kind, weight, labels and stack, and the counters of each program add up.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bpf/load/loading.h"
#include "bpf/sampling/timed_events.h"
#include "bpf/unwind/stack_tables.h"
#include "bpf/wire/records.h"
#include "kernel/sampled_child.h"
#include "kernel/two_hooks_wire.h"
#include "sources/label_codec.h"
#include "support/catch.h"
#include "support/rights.h"
#include "two_hooks_bpf.skel.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

// Counts samples of one kind, and how many of them are alike.
struct Taken {
  std::uint64_t samples = 0;
  std::uint64_t others = 0;  // unlike the first one
  std::uint64_t unlabelled = 0;
  std::uint64_t wrong_weight = 0;
  std::vector<std::uint64_t> stack;  // of the first one
  ls_stack_end end = LS_STACK_NOT_WANTED;
};

struct Records {
  std::array<Taken, LS_SAMPLE_KIND_COUNT> of_kind;
  std::uint64_t malformed = 0;
};

int on_record(void* context, void* data, std::size_t size) {
  auto& records = *static_cast<Records*>(context);
  const auto record = decode_record({static_cast<const std::byte*>(data), size});
  const auto* sample = record ? std::get_if<SampleRecord>(&*record) : nullptr;
  if (sample == nullptr) return ++records.malformed, 0;
  Taken& taken = records.of_kind[sample->kind];
  const std::vector<std::uint64_t> stack(sample->stack.user.begin(), sample->stack.user.end());
  if (taken.samples++ == 0) {
    taken.stack = stack;
    taken.end = sample->stack.end;
  }
  // A system call always comes from the same place. An event may come anywhere below main().
  const bool alike =
      sample->kind == LS_WAITING
          ? stack == taken.stack && sample->stack.end == taken.end
          : !stack.empty() && !taken.stack.empty() && stack.back() == taken.stack.back();
  taken.others += alike ? 0 : 1;
  taken.unlabelled += observation_of(sample->labels).labels == LabelSet{{"id", "two", 0}} ? 0 : 1;
  taken.wrong_weight += sample->weight_ns == (sample->kind == LS_WAITING ? CALL_WEIGHT : 0) ? 0 : 1;
  return 0;
}

// Both programs, set up for one process.
class TwoHooks {
 public:
  TwoHooks(ls_call_graph call_graph, const SampledChild& child) {
    skip_without_bpf();
    options_.call_graph = call_graph;
    options_.frequency_hz = 4999;
    LibbpfLog log;
    std::size_t size = 0;
    const void* bytes = two_hooks_bpf__elf_bytes(&size);
    object_ = bpf_object__open_mem(bytes, size, nullptr);
    REQUIRE(object_ != nullptr);
    const auto cpus = static_cast<std::uint32_t>(libbpf_num_possible_cpus());
    ls_config config{};
    config.pid_namespace = own_pid_namespace();
    config.call_graph = call_graph;
    for (std::uint32_t program = 0; program < LS_SAMPLING_PROGRAMS; ++program) {
      config.first_slot[program] = program * cpus;
    }
    config.code_mask = ~std::uint64_t{0};
    config.wakeup_bytes = UINT64_MAX;
    REQUIRE(set_constants(object_, &config, sizeof config));
    for (const char* map : {"scratch", "unwind_scratch", "kept_rules"}) {
      resize(map, ALL_PROGRAMS * cpus);
    }
    resize("counters", ALL_PROGRAMS);
    const int error = bpf_object__load(object_);
    if (error != 0) FAIL(load_error(error, log).context);

    const Pid pid = child.pid();
    std::uint32_t execs = 0;
    ls_process process{};
    process.pid = process.pid_again = static_cast<std::uint32_t>(raw(pid));
    process.recipes.count = 1;
    process.recipes.recipe[0] = child.recipe();
    process.first_pointer_known = 1;
    REQUIRE(bpf_map_update_elem(map_fd(object_, "lives"), &pid, &execs, BPF_ANY) == 0);
    REQUIRE(bpf_map_update_elem(map_fd(object_, "processes"), &pid, &process, BPF_ANY) == 0);
    auto tables = StackTables::open(options_, object_, [](Pid) { return std::uint32_t{0}; });
    REQUIRE(tables);
    tables_ = *std::move(tables);
    tables_->set(pid, nullptr);
    tables_->wait(std::chrono::seconds(20));
    ring_ = ring_buffer__new(map_fd(object_, "ring"), on_record, &records_, nullptr);
    REQUIRE(ring_ != nullptr);
  }
  ~TwoHooks() {
    ring_buffer__free(ring_);
    tables_.reset();
    bpf_object__close(object_);
  }
  TwoHooks(const TwoHooks&) = delete;
  TwoHooks& operator=(const TwoHooks&) = delete;

  // Samples until there are this many of both kinds.
  const Records& sample(std::uint64_t events, std::uint64_t calls) {
    auto rings = MappingEvents::open(options_);
    REQUIRE(rings);
    auto timed = TimedEvents::open(options_, *rings, bpf_program__fd(program("at_event")));
    REQUIRE(timed);
    bpf_link* link = bpf_program__attach(program("at_call"));
    REQUIRE(link != nullptr);
    REQUIRE(timed->enable());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (records_.of_kind[LS_ON_CPU].samples < events ||
           records_.of_kind[LS_WAITING].samples < calls) {
      REQUIRE(std::chrono::steady_clock::now() < end);
      REQUIRE(ring_buffer__consume(ring_) >= 0);
    }
    bpf_link__destroy(link);
    REQUIRE(timed->disable());
    // When the system call of the last reader has ended, no program runs any more.
    usleep(50'000);
    REQUIRE(ring_buffer__consume(ring_) >= 0);
    return records_;
  }

  ls_counters counters(std::uint32_t program) const {
    std::vector<ls_counters> each(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    REQUIRE(bpf_map_lookup_elem(map_fd(object_, "counters"), &program, each.data()) == 0);
    ls_counters sum{};
    for (const ls_counters& cpu : each) {
      for (unsigned i = 0; i < LS_COUNTER_COUNT; ++i) sum.value[i] += cpu.value[i];
    }
    return sum;
  }

 private:
  void resize(const char* name, std::uint32_t entries) {
    bpf_map__set_max_entries(bpf_object__find_map_by_name(object_, name), entries);
  }
  bpf_program* program(const char* name) const {
    return bpf_object__find_program_by_name(object_, name);
  }

  SamplerOptions options_;
  bpf_object* object_ = nullptr;
  std::unique_ptr<StackTables> tables_;
  ring_buffer* ring_ = nullptr;
  Records records_;
};

}  // namespace

TEST_CASE(
    "two_hooks: a perf event in the middle of another program's sample changes nothing in it") {
  const ls_call_graph call_graph = GENERATE(LS_CALL_GRAPH_FP, LS_CALL_GRAPH_DWARF);
  CAPTURE(call_graph);
  // Nearly all of the child's time is that of at_call().
  SampledChild child([](ChildSide& parent) {
    std::vector<custom_labels_label_t> slots{label("id", "two")};
    publish_labels(slots);
    parent.say(1);
    while (!parent.told()) {
      for (int i = 0; i < 100'000; ++i) syscall(SYS_getppid);
    }
  });
  child.hear();
  TwoHooks hooks(call_graph, child);
  const Records& records = hooks.sample(2000, 20'000);
  child.tell();
  CHECK(records.malformed == 0);
  for (const auto& [kind, program] :
       {std::pair{LS_ON_CPU, LS_PROGRAM_EVENT + 0U}, std::pair{LS_WAITING, CALL_PROGRAM + 0U}}) {
    CAPTURE(kind);
    const Taken& taken = records.of_kind[kind];
    CHECK(taken.unlabelled == 0);
    CHECK(taken.wrong_weight == 0);
    const ls_counters counters = hooks.counters(program);
    const auto& value = counters.value;
    CHECK(taken.samples == value[LS_COUNT_TAKEN] - value[LS_COUNT_DROPPED_SAMPLE]);
    CHECK(value[LS_LABELLED] == value[LS_COUNT_TAKEN]);
  }
  const Taken& calls = records.of_kind[LS_WAITING];
  // told() is another system call, once in a while.
  CHECK(calls.others * 1000 < calls.samples);
  if (call_graph != LS_CALL_GRAPH_DWARF) return;
  CHECK(calls.end <= LS_STACK_ENTRY);
  CHECK(calls.stack.size() > 3);
  const Taken& events = records.of_kind[LS_ON_CPU];
  CHECK(events.others == 0);
  CHECK(events.stack.back() == calls.stack.back());
}
