// This file loads the BPF programs. If the kernel can repeat reads, an object with repeated reads
// is tried first. What is in the maps afterwards is in recorded_processes.cc and recorded_waits.cc.
#include "bpf/load/bpf_object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <string>
#include <utility>

#include "base/kernel_version.h"
#include "bpf/load/key_choice.h"
#include "bpf/load/loading.h"
#include "bpf/load/wait_programs.h"
#include "process/proc_fs.h"

namespace labelscope {
namespace {

constexpr std::uint32_t kMostCpus = 65536;

// The ring buffer requires a power of two of pages.
std::uint32_t ring_size(std::size_t wanted) {
  auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t most = std::size_t{1} << 30;
  return static_cast<std::uint32_t>(std::bit_ceil(std::clamp(wanted, page, most)));
}

// On aarch64, signatures of return addresses are in the bits that no address of user mode has. The
// stack is at the upper end of user addresses.
std::uint64_t code_mask() {
  const auto on_stack = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return std::bit_ceil(std::uint64_t{on_stack}) - 1;
}

// The kernel may leave numbers out: of four CPUs the last one may have the number 6.
Result<std::uint32_t> largest_cpu_number() {
  errno = 0;
  const std::string list = read_proc_line("/sys/devices/system/cpu/possible");
  if (list.empty() && errno == ENOENT) {
    return Error{ErrorCode::kUnsupported,
                 "/sys/devices/system/cpu/possible cannot be read: /sys is not mounted (mount -t "
                 "sysfs sysfs /sys)"};
  }
  if (list.empty() && errno != 0) {
    return system_error(errno, "cannot read /sys/devices/system/cpu/possible");
  }
  const std::size_t last = list.find_last_of("-,") + 1;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(list.data() + last, list.data() + list.size(), number);
  if (error == std::errc() && number < kMostCpus) return number;
  return Error{ErrorCode::kUnsupported,
               "cannot find out how many CPUs there are: /sys/devices/system/cpu/possible says '" +
                   list + "'"};
}

// Gives each program that is used a slot on each CPU.
void give_slots(const SamplerOptions& options, std::uint32_t cpus, ls_config& config) {
  const std::array<bool, LS_SAMPLING_PROGRAMS> used{samples_running(options.mode),
                                                    samples_waits(options.mode)};
  std::uint32_t next = 0;
  for (std::size_t program = 0; program < used.size(); ++program) {
    config.first_slot[program] = used[program] ? std::exchange(next, next + cpus) : LS_NO_SLOT;
  }
}

Result<ls_config> make_config(const SamplerOptions& options, std::uint32_t cpus) {
  ls_config config{};
  config.pid_namespace = own_pid_namespace();
  config.call_graph = options.call_graph;
  config.kernel_stacks = options.kernel_stacks;
  config.follow_children = options.follow_children;
  config.presets = options.presets;
  config.keeps_reads = samples_waits(options.mode);
  config.worker_flag = worker_flags();
  give_slots(options, cpus, config);
  config.blame = options.blames && samples_waits(options.mode);
  if (config.blame) config.hard_interrupt = hard_interrupt_bits();
#if defined(__x86_64__)
  if (config.blame) {
    auto distance = preempt_count_distance();
    if (!distance) {
      return Error{distance.error().code,
                   "waits cannot be blamed on anyone (--blame), because interrupts cannot be told "
                   "from the threads that they interrupt: " +
                       distance.error().context};
    }
    config.preempt_count_distance = *distance;
  }
#endif
  config.code_mask = code_mask();
  if (getrandom(&config.label_key, sizeof config.label_key, 0) != sizeof config.label_key) {
    return system_error(errno, "cannot draw a secret for the numbers of label sets (getrandom)");
  }
  config.wakeup_bytes = ring_size(options.ring_bytes) / 2;
  return config;
}

// Label sets of waits that the kernel knows by number at the same time. It forgets the oldest.
constexpr std::uint32_t kLabelNumbers = 65536;

// Threads and the locks that they have let go of, of which as many are known as are used at once.
constexpr std::uint32_t kLettingGo = 16384;

// What runs at each timer of the machine and at each thread that is about to be woken.
constexpr const char* kBlamePrograms[] = {"on_timer", "on_timer_end", "on_coarse_timer",
                                          "on_coarse_timer_end", "on_waking"};
// What runs at each switch, after on_switch().
constexpr const char* kOwnerPrograms[] = {"on_block"};

void resize(bpf_object* object, const char* name, std::uint32_t entries) {
  if (bpf_map* map = bpf_object__find_map_by_name(object, name)) {
    bpf_map__set_max_entries(map, entries);
  }
}

void load_if(bool wanted, std::span<const char* const> programs, bpf_object* object) {
  for (const char* name : programs) {
    if (bpf_program* program = bpf_object__find_program_by_name(object, name)) {
      bpf_program__set_autoload(program, wanted);
    }
  }
}

}  // namespace

Result<std::unique_ptr<BpfObject>> BpfObject::load(const SamplerOptions& options) {
  std::string problem;
  bool refused = false;
  const bool unwinds = options.call_graph == LS_CALL_GRAPH_DWARF;
  if (samples_waits(options.mode)) {
    // Each thread samples itself, in the same way as reads are repeated.
    auto retrying = retrying_sampler(unwinds);
    if (!retrying) {
      return Error{retrying.error().code,
                   "waits are sampled by the threads themselves, and " + retrying.error().context};
    }
    return load_object(options, *retrying);
  }
  if (options.retries == RetryMode::kAuto) {
    if (auto retrying = retrying_sampler(unwinds)) {
      auto loaded = load_object(options, *retrying);
      if (loaded || loaded.error().code != ErrorCode::kSystem) return loaded;
      problem = std::move(loaded).error().context;
      refused = true;
    } else {
      problem = std::move(retrying).error().context;
    }
  }
  auto loaded = load_object(options, plain_sampler(unwinds));
  if (loaded) {
    (*loaded)->retry_problem_ = std::move(problem);
    (*loaded)->retries_refused_ = refused;
  }
  return loaded;
}

Result<std::unique_ptr<BpfObject>> BpfObject::load_object(const SamplerOptions& options,
                                                          const SamplerObject& object) {
  const Result<std::uint32_t> last_cpu = largest_cpu_number();
  if (!last_cpu) return last_cpu.error();
  const std::uint32_t cpus = *last_cpu + 1;
  auto config = make_config(options, cpus);
  if (!config) return std::move(config).error();
  LibbpfLog log;
  std::size_t size = 0;
  const void* bytes = object.bytes(&size);
  DECLARE_LIBBPF_OPTS(bpf_object_open_opts, open_options, .object_name = "labelscope");
  std::unique_ptr<BpfObject> loaded(new BpfObject);
  loaded->object_ = bpf_object__open_mem(bytes, size, &open_options);
  if (!loaded->object_) return load_error(-errno, log);

  loaded->samples_waits_ = samples_waits(options.mode);
  loaded->blames_ = config->blame != 0;
  for (const std::uint32_t first : config->first_slot) loaded->slots_ += first == LS_NO_SLOT ? 0 : cpus;
  loaded->size_maps(options, object, cpus);
  load_if(loaded->samples_waits_, kWaitPrograms, loaded->object_);
  load_if(loaded->blames_, kBlamePrograms, loaded->object_);
  load_if(loaded->blames_, kOwnerPrograms, loaded->object_);
  if (Status status = set_constants(loaded->object_, &*config, sizeof(*config)); !status) {
    return std::move(status).error();
  }
  FirstParts parts(loaded->object_);
  if (Status status = load_all(loaded->object_, log); !status) return std::move(status).error();
  parts.settle();
  loaded->first_parts_ = std::move(parts);
  if (Status status = loaded->find_parts(); !status) return std::move(status).error();
  if (loaded->samples_waits_) {
    const ls_key_choice of_waits = choice_of_waits(options, config->label_key);
    if (Status status = loaded->set_choice(of_waits); !status) return std::move(status).error();
    loaded->of_blame_ =
        choose_keys(LS_CHOICE_OF_BLAME, LS_KEYS_ONLY, options.blame_keys, config->label_key);
    // All is there when blame_by_keys() changes one word of it.
    ls_key_choice for_later = loaded->of_blame_;
    for_later.how = LS_KEYS_ALL;
    if (Status status = loaded->set_choice(for_later); !status) return std::move(status).error();
  }
  if (object.unwinds && !has_saved_registers()) {
    if (Status status = loaded->calibrate(); !status) return std::move(status).error();
  }
  if (Status status = loaded->attach(); !status) return std::move(status).error();
  return loaded;
}

void BpfObject::size_maps(const SamplerOptions& options, const SamplerObject& object,
                          std::uint32_t cpus) {
  resize(object_, "processes", options.max_processes);
  resize(object_, "lives", options.max_processes);
  resize(object_, "unwind_processes", options.max_processes);
  resize(object_, "presets", options.max_preset_programs);
  resize(object_, "ring", ring_size(options.ring_bytes));
  for (const char* of_each_slot : {"scratch", "unwind_scratch", "kept_rules"}) {
    resize(object_, of_each_slot, slots_ + (object.retries ? LS_RETRY_SCRATCHES : 0));
  }
  if (samples_waits_) {
    resize(object_, "off_cpu_threads", options.max_threads);
    resize(object_, "wait_totals", kMostWaitTotals);
    resize(object_, "label_numbers", kLabelNumbers);
  }
  if (blames_) {
    resize(object_, "processors", cpus);
    resize(object_, "woken_threads", options.max_threads);
    resize(object_, "letting_go", kLettingGo);
    resize(object_, "blame_totals", kMostBlameTotals);
    resize(object_, "late_labels", kMostBlameTotals);
  }
}

Status BpfObject::find_parts() {
  program_fd_ = bpf_program__fd(bpf_object__find_program_by_name(object_, "sample"));
  ring_fd_ = map_fd(object_, "ring");
  processes_fd_ = map_fd(object_, "processes");
  lives_fd_ = map_fd(object_, "lives");
  presets_fd_ = map_fd(object_, "presets");
  counters_fd_ = map_fd(object_, "counters");
  endings_fd_ = map_fd(object_, "endings");
  unsent_ends_fd_ = map_fd(object_, "unsent_ends");
  retries_fd_ = map_fd(object_, "retries");
  free_scratches_fd_ = map_fd(object_, "free_scratches");
  off_cpu_threads_fd_ = map_fd(object_, "off_cpu_threads");
  return retries() ? fill_free_scratches() : Status{};
}

Status BpfObject::set_choice(const ls_key_choice& choice) {
  if (bpf_map_update_elem(map_fd(object_, "key_choices"), &choice.which, &choice, BPF_ANY) == 0) {
    return {};
  }
  return system_error(errno, "cannot choose the labels by which waits are added up");
}

Status BpfObject::blame_by_keys() { return set_choice(of_blame_); }

Status BpfObject::fill_free_scratches() {
  for (std::uint32_t i = 0; i < LS_RETRY_SCRATCHES; ++i) {
    std::uint32_t index = slots_ + i;
    if (bpf_map_update_elem(free_scratches_fd_, nullptr, &index, BPF_ANY) != 0) {
      return system_error(errno, "cannot prepare the buffers of repeated reads");
    }
  }
  return {};
}

// One system call of labelscope itself is enough.
Status BpfObject::calibrate() {
  bpf_link* link = bpf_program__attach(bpf_object__find_program_by_name(object_, "calibrate"));
  if (!link) return system_error(errno, "cannot attach the BPF program calibrate");
  static_cast<void>(getppid());
  bpf_link__destroy(link);
  std::uint32_t zero = 0;
  std::uint64_t distance = 0;
  const int map = map_fd(object_, "unwind_calibration");
  if (bpf_map_lookup_elem(map, &zero, &distance) == 0 && distance != 0) return {};
  return Error{ErrorCode::kUnsupported,
               "where this kernel saves the registers of programs could not be learned"};
}

Status BpfObject::attach() {
  constexpr const char* kPrograms[] = {"on_fork", "on_exec", "on_exit", "on_free"};
  return attach(kPrograms, links_);
}

Status BpfObject::attach(std::span<const char* const> programs, std::vector<bpf_link*>& links) {
  for (const char* name : programs) {
    bpf_link* link = bpf_program__attach(bpf_object__find_program_by_name(object_, name));
    if (!link) return system_error(errno, std::string("cannot attach the BPF program ") + name);
    links.push_back(link);
  }
  return {};
}

Status BpfObject::start_waits() {
  if (blames_) {
    if (Status status = attach(kBlamePrograms, wait_links_); !status) return status;
  }
  if (Status status = attach(kWaitPrograms, wait_links_); !status) return status;
  // Programs run in the order in which they were attached.
  return blames_ ? attach(kOwnerPrograms, wait_links_) : Status();
}

void BpfObject::stop_waits() {
  const std::vector<bpf_link*> links = std::exchange(wait_links_, {});
  // The one that removes threads which end was attached first, and goes last.
  std::for_each(links.rbegin(), links.rend(), bpf_link__destroy);
}

void BpfObject::detach() {
  stop_waits();
  for (bpf_link* link : links_) bpf_link__destroy(link);
  links_.clear();
}

BpfObject::~BpfObject() {
  detach();
  bpf_object__close(object_);
}

void BpfObject::cancel_retries() {
  if (!retries()) return;
  std::uint32_t key = 0;
  while (bpf_map_get_next_key(retries_fd_, nullptr, &key) == 0) {
    if (bpf_map_delete_elem(retries_fd_, &key) != 0 && errno != ENOENT) return;
  }
}

}  // namespace labelscope
