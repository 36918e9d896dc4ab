#include "native/waits/machine.h"

#include <linux/bpf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "bpf/load/key_choice.h"
#include "bpf/load/wait_programs.h"
#include "labelscope/label_blocks.h"

namespace labelscope::test {
namespace {

Machine* machine = nullptr;

// The kernel's PF_EXITING, PF_KTHREAD, and bits of task->__state.
constexpr unsigned kExiting = 0x4;
constexpr unsigned kOfKernel = 0x00200000;
constexpr __u64 kInterruptible = 1;
constexpr __u64 kUninterruptible = 2;
constexpr __u64 kStopped = 4;
constexpr __u64 kDead = 0x80;
constexpr __u64 kFrozen = 0x8000;

__u64 state_of(Leaving how) {
  switch (how) {
    case Leaving::kWaits:
      return kInterruptible;
    case Leaving::kBlocked:
      return kUninterruptible;
    case Leaving::kStopped:
      return kStopped;
    case Leaving::kFrozen:
      return kFrozen;
    case Leaving::kDead:
      return kDead;
    case Leaving::kPreempted:
    case Leaving::kYields:
      break;
  }
  return 0;
}

// The arguments of a raw tracepoint.
bpf_raw_tracepoint_args* arguments(std::vector<__u64>& of) {
  return reinterpret_cast<bpf_raw_tracepoint_args*>(of.data());
}

__u64 number_of(const void* pointer) { return reinterpret_cast<__u64>(pointer); }

}  // namespace

Machine::Machine(bool blames, unsigned processors) : blames_(blames) {
  machine = this;
  begin_maps();
  fake_machine = {};
  fake_machine.now_ns = 1'000'000'000;
  fake_machine.random = 1;
  config = {};
  config.first_slot[LS_PROGRAM_SWITCH] = processors;
  config.keeps_reads = 1;
  config.blame = blames;
  config.hard_interrupt = 0x00ff0000;
  config.label_key = {{0x1234'5678'9abc'def0, 0x0fed'cba9'8765'4321}};
  config.preempt_count_distance =
      static_cast<__s64>(offsetof(Processor, preempt_count)) -
      static_cast<__s64>(offsetof(Processor, queue));
  for (const char* map : {"off_cpu_threads", "woken_threads", "wait_totals", "blame_totals",
                          "late_labels", "label_numbers", "letting_go", "processors"})
    set_map_size(map, 4096);
  const std::uint32_t slots = processors * LS_SAMPLING_PROGRAMS;
  set_map_size("scratch", slots + LS_RETRY_SCRATCHES);
  for (std::uint32_t i = 0; i < LS_RETRY_SCRATCHES; ++i)
    put_element("free_scratches", {}, bytes_of(slots + i));
  put("off_cpu_unit", std::uint32_t{0}, std::uint64_t{1} << 62);
  nobody_.numbers[0].ns = &nowhere_;
  for (Processor& processor : processors_) {
    processor.queue.rq = &processor.queue;
    processor.idle.flags = kOfKernel;
    processor.idle.se.cfs_rq = &processor.queue;
    processor.idle.group_leader = &processor.idle;
    processor.idle.thread_pid = &nobody_;
  }
  see(0);
}

Machine::~Machine() { machine = nullptr; }

FakeThread& Machine::process(int pid, bool recorded) {
  FakeThread& first = thread(pid, pid);
  if (recorded) record(pid);
  return first;
}

FakeThread& Machine::thread(int pid, int tid) {
  FakeThread& made = threads_.emplace_back();
  auto& signal = signals_[pid];
  if (!signal || tid == pid) signal = std::make_unique<signal_struct>();
  ++signal->live.counter;
  made.task.pid = tid;
  made.task.tgid = pid;
  made.task.signal = signal.get();
  made.space.ns.inum = 5;
  made.number.numbers[0] = {tid, &made.space};
  made.task.thread_pid = &made.number;
  made.task.group_leader = &made.task;
  for (FakeThread& other : threads_)
    if (other.task.pid == pid) made.task.group_leader = &other.task;
  made.task.se.cfs_rq = &processors_[0].queue;
  made.task.thread_pointer = number_of(&made.variable);
  made.task.registers.cs = 0x33;
  std::strcpy(made.task.comm, ("name" + std::to_string(pid)).c_str());
  call(made, -1);
  return made;
}

void Machine::record(int pid, std::uint32_t life) {
  const auto key = static_cast<std::uint32_t>(pid);
  ls_process process{};
  process.recipes.count = 1;
  process.recipes.recipe[0].kind = LS_TP_OFFSET;
  process.plan = 7;
  process.pid = process.pid_again = key;
  process.first_pointer_known = 1;
  process.life = life;
  put("maybe_recorded", key % LS_PID_REMAINDERS, std::uint32_t{1});
  put("lives", key, life);
  put("processes", key, process);
}

void Machine::forget(int pid) {
  const auto key = bytes_of(static_cast<std::uint32_t>(pid));
  for (const char* map : {"processes", "lives"}) remove_element(map, key);
}

void Machine::label(FakeThread& thread, Labels labels) {
  thread.labels = std::move(labels);
  thread.slots.clear();
  for (const auto& [key, value] : thread.labels) {
    const auto text = [](const std::string& of) {
      const auto* bytes = reinterpret_cast<const unsigned char*>(of.data());
      return custom_labels_string_t{of.size(), const_cast<unsigned char*>(bytes)};
    };
    thread.slots.push_back({text(key), text(value)});
  }
  thread.set = {thread.slots.data(), thread.slots.size(), thread.slots.size()};
  thread.variable = thread.labels.empty() ? nullptr : &thread.set;
}

void Machine::pass(std::uint64_t ns) {
  fake_machine.now_ns += ns;
  for (Processor& processor : processors_)
    if (processor.thread != nullptr) processor.thread->task.se.sum_exec_runtime += ns;
}

task_struct* Machine::current(unsigned processor) {
  Processor& here = processors_[processor];
  return here.thread == nullptr ? &here.idle : &here.thread->task;
}

void Machine::see(unsigned processor) {
  fake_machine.current = current(processor);
  fake_machine.processor = processor;
  fake_processor = processor;
}

void Machine::change(unsigned processor, FakeThread* next, Leaving how) {
  Processor& here = processors_[processor];
  see(processor);
  task_struct* comes = next == nullptr ? &here.idle : &next->task;
  const __u64 preempted = how == Leaving::kPreempted;
  const __u64 switched[] = {preempted, number_of(current(processor)), number_of(comes),
                            state_of(how)};
  if (is_attached("on_switch")) on_switch(switched);
  if (blames_) on_block(switched);
  if (here.thread != nullptr) here.thread->processor = -1;
  here.thread = next;
  if (next == nullptr) return;
  next->processor = static_cast<int>(processor);
  next->task.se.cfs_rq = &here.queue;
  if (!next->in_kernel) return_to_user(processor);
}

void Machine::return_to_user(unsigned processor) {
  see(processor);
  run_work(current(processor));
}

void Machine::wake(FakeThread& thread, unsigned processor, std::uint32_t interrupt, bool by_timer) {
  see(processor);
  processors_[processor].preempt_count = interrupt;
  const bool is_hard = (interrupt & config.hard_interrupt) != 0;
  if (by_timer) is_hard ? on_timer(nullptr) : on_coarse_timer(nullptr);
  const __u64 woken[] = {number_of(&thread.task)};
  if (blames_) on_waking(woken);
  if (is_attached("on_wakeup")) on_wakeup(woken);
  if (by_timer) is_hard ? on_timer_end(nullptr) : on_coarse_timer_end(nullptr);
  processors_[processor].preempt_count = 0;
}

bool Machine::is_attached(std::string_view program) const {
  const auto place = std::ranges::find(kWaitPrograms, program);
  return static_cast<std::size_t>(place - std::begin(kWaitPrograms)) < attached_;
}

void Machine::begin(FakeThread& thread) {
  see(0);
  const __u64 woken[] = {number_of(&thread.task)};
  if (is_attached("on_wakeup_new")) on_wakeup_new(woken);
}

void Machine::exit(unsigned processor) {
  see(processor);
  FakeThread& thread = *processors_[processor].thread;
  thread.task.flags |= kExiting;
  --thread.task.signal->live.counter;
  std::vector<__u64> of{number_of(&thread.task), thread.task.signal->live.counter == 0, 0};
  native_on_exit(arguments(of));
  if (is_attached("on_waiter_exit")) on_waiter_exit(arguments(of));
  thread.in_kernel = true;
  thread.in_memory = false;
  thread.can_come = false;
}

void Machine::free(FakeThread& thread) {
  see(0);
  std::vector<__u64> of{number_of(&thread.task), 0, 0};
  on_free(arguments(of));
  forget_storage(&thread.task);
}

bool Machine::knows(const FakeThread& thread) {
  const auto key = bytes_of(static_cast<std::uint32_t>(thread.task.pid));
  return std::ranges::any_of(elements_of("off_cpu_threads"),
                             [&](const auto& element) { return element.first == key; });
}

void Machine::read_ring() {
  for (Bytes& record : take_records()) {
    if (object_of<ls_record_head>(record).type == LS_RECORD_LABEL_SET) {
      const auto head = object_of<ls_label_set_head>(record);
      const auto* labels = reinterpret_cast<const unsigned char*>(record.data()) + sizeof head;
      ls_label_cursor cursor;
      ls_label_view label;
      std::string name = "?";
      if (ls_open_labels(&cursor, labels, record.size() - sizeof head) == nullptr &&
          ls_next_label(&cursor, &label) != 0)
        name.assign(reinterpret_cast<const char*>(label.value), label.value_length);
      names_[head.number] = name;
      ++named_[head.number];
    }
    records_.push_back(std::move(record));
  }
}

std::string Machine::name_of(std::uint64_t number) {
  read_ring();
  if (number < LS_FIRST_LABEL_NUMBER) return "#" + std::to_string(number);
  const auto name = names_.find(number);
  return name == names_.end() ? "not sent" : name->second;
}

Machine::Wait Machine::wait_of(const ls_wait_key& key) {
  std::uint64_t labels = key.labels;
  if ((key.generation & LS_GENERATION_LATE) != 0) {
    labels = value_of<std::uint64_t>("late_labels", labels);
    if (labels == 0) return {static_cast<int>(key.pid), "late", key.system_call, key.part};
  }
  return {static_cast<int>(key.pid), name_of(labels), key.system_call, key.part};
}

WaitCut Machine::cut() {
  pass((LS_GENERATIONS - now() % LS_GENERATIONS) % LS_GENERATIONS);
  const auto window = value_of<std::uint64_t>("wait_window", std::uint32_t{0});
  cut_ = {cut_.cut_ns, now(), ls_slot_in(window)};
  put("wait_window", std::uint32_t{0}, now() | (ls_generation_of(window) ^ LS_WINDOW_SLOTS));
  return cut_;
}

WaitingEntries Machine::entries() {
  WaitingEntries all;
  for (const auto& [tid, entry] : entries_of<std::uint32_t, ls_off_cpu>("off_cpu_threads"))
    all.emplace_back(static_cast<Tid>(tid), entry);
  return all;
}

std::vector<ThreadWaitsRecord> Machine::ended() {
  std::vector<ThreadWaitsRecord> all;
  for (const auto& of : sent<ls_thread_waits>(LS_RECORD_THREAD_WAITS)) {
    all.push_back({{static_cast<Pid>(of.pid), of.life}, static_cast<Tid>(of.tid), of.account,
                   of.divided, of.late, of.ended_ns, of.thread_ns});
  }
  return all;
}

std::map<Machine::Wait, Machine::Sum> Machine::take_waits() {
  const auto current =
      ls_generation_of(value_of<std::uint64_t>("wait_window", std::uint32_t{0}));
  std::map<Wait, Sum> all = waits([&](const ls_wait_key& key) { return key.generation != current; });
  for (const auto& [key, total] : entries_of<ls_wait_key, ls_wait_total>("wait_totals"))
    if (key.generation != current) remove_element("wait_totals", bytes_of(key));
  return all;
}

std::map<Machine::Blame, Machine::Sum> Machine::take_blame() {
  const auto current =
      ls_generation_of(value_of<std::uint64_t>("wait_window", std::uint32_t{0}));
  const auto is_old = [&](const ls_blame_key& key) {
    return (key.wait.generation & ~LS_GENERATION_LATE) != current;
  };
  std::map<Blame, Sum> all = blame(is_old);
  for (const auto& [key, total] : entries_of<ls_blame_key, ls_blame_total>("blame_totals"))
    if (is_old(key)) remove_element("blame_totals", bytes_of(key));
  return all;
}

std::map<Machine::Wait, Machine::Sum> Machine::waits(
    const std::function<bool(const ls_wait_key&)>& wanted) {
  read_ring();
  std::map<Wait, Sum> all;
  for (const auto& [key, total] : entries_of<ls_wait_key, ls_wait_total>("wait_totals")) {
    if (wanted && !wanted(key)) continue;
    Sum& sum = all[wait_of(key)];
    sum.ns += total.ns;
    sum.count += total.count;
  }
  return all;
}

std::map<Machine::Blame, Machine::Sum> Machine::blame(
    const std::function<bool(const ls_blame_key&)>& wanted) {
  read_ring();
  static constexpr const char* kKinds[] = {"unknown", "thread",     "process", "timer", "interrupt",
                                           "kernel",  "nobody yet", "owner",   "quota"};
  std::map<Blame, Sum> all;
  for (const auto& [key, total] : entries_of<ls_blame_key, ls_blame_total>("blame_totals")) {
    if (wanted && !wanted(key)) continue;
    std::string by = kKinds[key.who.kind];
    if (key.who.kind == LS_BLAME_THREAD || key.who.kind == LS_BLAME_OWNER)
      by += " " + std::to_string(key.who.pid) + " " + name_of(key.who.labels);
    if (key.who.kind == LS_BLAME_PROCESS)
      by += " " + std::string(reinterpret_cast<const char*>(key.who.comm));
    Sum& sum = all[{wait_of(key.wait), by}];
    sum.ns += total.ns;
    sum.count += total.count;
  }
  return all;
}

std::uint64_t Machine::blamed(const std::string& waiter, const std::string& by) {
  std::uint64_t ns = 0;
  for (const auto& [key, sum] : blame())
    if (key.first.labels == waiter && key.second == by) ns += sum.ns;
  return ns;
}

std::uint64_t Machine::waited(const std::string& labels, unsigned part) {
  std::uint64_t ns = 0;
  for (const auto& [key, sum] : waits())
    if (key.labels == labels && key.part == part) ns += sum.ns;
  return ns;
}

std::uint64_t Machine::waited(const std::string& labels) {
  std::uint64_t ns = 0;
  for (unsigned part = 0; part < LS_WAIT_PARTS; ++part) ns += waited(labels, part);
  return ns;
}

std::uint64_t Machine::counted(std::uint32_t counter) {
  std::uint64_t sum = 0;
  for (const auto& [key, value] : elements_of("counters"))
    sum += object_of<ls_counters>(value).value[counter];
  return sum;
}

void Machine::choose(ls_choice which, ls_key_rule how, const std::vector<std::string>& keys) {
  const ls_key_choice choice = choose_keys(which, how, keys, config.label_key);
  put("key_choices", static_cast<std::uint32_t>(which), choice);
}

std::size_t Machine::times_named(const std::string& labels) {
  read_ring();
  std::size_t times = 0;
  for (const auto& [number, count] : named_)
    if (names_[number] == labels) times += count;
  return times;
}

task_struct* Machine::task_of(int number) {
  for (FakeThread& thread : threads_)
    if (thread.task.pid == number && (thread.task.flags & kExiting) == 0) return &thread.task;
  return nullptr;
}

bool Machine::is_there(const void* address, std::uint32_t size, bool bring_in) {
  const auto first = number_of(address);
  if (first < 4096) return false;
  for (FakeThread& thread : threads_) {
    const auto place = number_of(&thread.variable);
    if (thread.in_memory || first + size <= place || first >= place + sizeof thread.variable)
      continue;
    if (!bring_in || !thread.can_come) return false;
    thread.in_memory = true;
  }
  return true;
}

}  // namespace labelscope::test

using labelscope::test::machine;

int fake_is_readable(const void* address, __u32 size) {
  return machine->is_there(address, size, false);
}
int fake_bring_in(const void* address, __u32 size) { return machine->is_there(address, size, true); }
task_struct* bpf_task_from_vpid(int number) { return machine->task_of(number); }
void bpf_task_release(task_struct*) {}
