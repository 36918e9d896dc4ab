#include "bpf/snapshot/task_iterators.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/kernel_version.h"
#include "bpf/load/kernel.h"
#include "bpf/load/loading.h"
#include "bpf/load/preset_programs.h"
#include "labelscope/unique_fd.h"
#include "task_snapshot_bpf.skel.h"

namespace labelscope {
namespace {

struct IteratorKind {
  const char* program;
  ls_task_record_type record;
};

// The order is that of TaskIterators::Kind.
constexpr std::array<IteratorKind, 4> kKinds{{{"read_threads", LS_RECORD_THREAD},
                                              {"read_bytes", LS_RECORD_BYTES},
                                              {"read_auxv", LS_RECORD_AUXV},
                                              {"list_mappings", LS_RECORD_MAPPING}}};

// The kernel hands out at most 32 KiB at a time, so a whole record and a part of the next fit.
constexpr std::size_t kBufferBytes = 64 << 10;

Error malformed(const char* what) {
  return {ErrorCode::kMalformed, std::string("a record of the BPF iterators has ") + what};
}

}  // namespace

Result<std::unique_ptr<TaskIterators>> TaskIterators::load(Pid pid) {
  std::unique_ptr<TaskIterators> loaded(new TaskIterators(pid));
  Status status = loaded->load();
  if (status) status = loaded->attach();
  if (status) return loaded;
  return iterator_error(std::move(status).error());
}

Status TaskIterators::load() {
  LibbpfLog log;
  std::size_t size = 0;
  const void* bytes = task_snapshot_bpf__elf_bytes(&size);
  DECLARE_LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "ls_snapshot");
  object_ = bpf_object__open_mem(bytes, size, &options);
  if (!object_) return load_error(-errno, log);
  ls_snapshot_config config{own_pid_namespace(), worker_flags()};
  if (Status status = set_constants(object_, &config, sizeof(config)); !status) return status;
  if (Status status = load_all(object_, log); !status) return status;
  request_fd_ = map_fd(object_, "request");
  presets_fd_ = map_fd(object_, "presets");
  return {};
}

TaskIterators::~TaskIterators() {
  detach();
  bpf_object__close(object_);
}

void TaskIterators::detach() {
  for (bpf_link*& link : links_) bpf_link__destroy(std::exchange(link, nullptr));
}

Status TaskIterators::move_to(Pid pid) {
  const std::lock_guard<std::mutex> lock(one_at_a_time_);
  detach();
  pid_ = pid;
  program_.reset();
  return attach();
}

Status TaskIterators::attach() {
  LibbpfLog log;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    links_[i] = attach_iterator(bpf_object__find_program_by_name(object_, kKinds[i].program), pid_);
    if (!links_[i]) return load_error(-errno, log);
  }
  return {};
}

void TaskIterators::copy_presets(int map, std::span<const ls_tls_recipe> recipes) {
  const std::lock_guard<std::mutex> lock(one_at_a_time_);
  copy_preset_programs(map, presets_fd_, recipes);
}

Status TaskIterators::run(Kind kind, const ls_request& request, const Visitor& visit,
                          const PresetPlans& presets) {
  const std::lock_guard<std::mutex> lock(one_at_a_time_);
  const std::uint32_t only = 0;
  const std::span recipes(request.recipes.recipe, request.recipes.count);
  std::set<std::uint32_t> used;
  add_preset_numbers(recipes, used);
  keep_preset_programs(presets_fd_, used);
  if (Status put = put_preset_programs(presets_fd_, recipes, presets); !put) return put;
  ls_request asked = request;
  asked.pid = static_cast<std::uint32_t>(raw(pid_));
  asked.done = 0;
  if (bpf_map_update_elem(request_fd_, &only, &asked, BPF_ANY) != 0) {
    return system_error(errno, "cannot ask the BPF iterators");
  }
  UniqueFd iterator(bpf_iter_create(bpf_link__fd(links_[static_cast<std::size_t>(kind)])));
  if (!iterator.valid()) return system_error(errno, "cannot start a BPF iterator");
  return read_all(iterator.get(), kind, visit);
}

Status TaskIterators::read_all(int iterator, Kind kind, const Visitor& visit) {
  std::vector<std::uint64_t> words(kBufferBytes / sizeof(std::uint64_t));
  const auto buffer = std::as_writable_bytes(std::span(words));
  std::size_t filled = 0;
  for (;;) {
    const ssize_t got = ::read(iterator, buffer.data() + filled, buffer.size() - filled);
    // EAGAIN means that the iterator has skipped a million other tasks and must be called again.
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) return system_error(errno, "cannot read from a BPF iterator");
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    std::size_t at = 0;
    while (filled - at >= sizeof(ls_task_record)) {
      ls_task_record record{};
      std::memcpy(&record, buffer.data() + at, sizeof(record));
      if (record.size % 8 != 0 || record.size < sizeof(record) || record.size > buffer.size() / 2) {
        return malformed("a wrong size");
      }
      if (record.size > filled - at) break;
      if (Status status = accept(record, kind); !status) return status;
      if (Status status = visit(buffer.subspan(at, record.size)); !status) return status;
      at += record.size;
    }
    std::memmove(buffer.data(), buffer.data() + at, filled - at);
    filled -= at;
  }
  return filled == 0 ? Status() : Status(malformed("no end"));
}

Status TaskIterators::accept(const ls_task_record& record, Kind kind) {
  if (record.type != kKinds[static_cast<std::size_t>(kind)].record) {
    return malformed("an unexpected type");
  }
  if (!program_) program_ = record.program;
  if (program_->start_time == record.program.start_time &&
      program_->exec_id == record.program.exec_id) {
    return {};
  }
  return Error{ErrorCode::kVanished, "process " + std::to_string(raw(pid_)) +
                                         " has executed another program meanwhile, or has ended"};
}

}  // namespace labelscope
