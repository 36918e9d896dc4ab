#include "bpf/snapshot/bpf_process.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "bpf/snapshot/task_iterators.h"
#include "bpf/wire/task_records.h"
#include "elf/regular_file.h"
#include "process/proc_fs.h"

namespace labelscope {
namespace {

Error ended(Pid pid) {
  return {ErrorCode::kVanished, "process " + std::to_string(raw(pid)) + " has ended"};
}

class BpfMemory final : public MemorySource {
 public:
  explicit BpfMemory(TaskIterators& iterators) : iterators_(iterators) {}

  Status read(Address address, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const auto part = out.first(std::min<std::size_t>(out.size(), LS_MOST_BYTES));
      if (Status status = read_part(address, part); !status) return status;
      address += part.size();
      out = out.subspan(part.size());
    }
    return {};
  }

 private:
  Status read_part(Address address, std::span<std::byte> out) const {
    bool answered = false;
    ls_request request{};
    request.address = untagged(address);
    request.size = static_cast<std::uint32_t>(out.size());
    Status status = iterators_.run(TaskIterators::Kind::kBytes, request,
                                   [&](std::span<const std::byte> record) -> Status {
                                     auto bytes = decode_bytes(record, out.size());
                                     if (!bytes) return std::move(bytes).error();
                                     std::ranges::copy(*bytes, out.begin());
                                     answered = true;
                                     return {};
                                   },
                                   {});
    if (status && !answered) return ended(iterators_.pid());
    return status;
  }

  TaskIterators& iterators_;
};

Result<std::vector<Mapping>> list_mappings(TaskIterators& iterators) {
  std::vector<Mapping> mappings;
  Status status = iterators.run(TaskIterators::Kind::kMappings, {},
                                [&](std::span<const std::byte> record) -> Status {
                                  auto mapping = decode_mapping(record);
                                  if (!mapping) return std::move(mapping).error();
                                  // Threads that do not share their files are visited one by one.
                                  if (mappings.empty() || mapping->start >= mappings.back().end) {
                                    mappings.push_back(*std::move(mapping));
                                  }
                                  return {};
                                },
                                {});
  if (!status) return std::move(status).error();
  if (mappings.empty()) {
    // The kernel leaves out processes that it does not show to labelscope.
    const auto live = LiveProcess::open(iterators.pid());
    const auto shown = live ? (*live)->mappings() : std::vector<Mapping>();
    return shown ? ended(iterators.pid()) : shown.error();
  }
  return mappings;
}

}  // namespace

BpfProcess::BpfProcess(std::unique_ptr<LiveProcess> live, std::unique_ptr<TaskIterators> iterators)
    : live_(std::move(live)),
      iterators_(std::move(iterators)),
      memory_(std::make_unique<BpfMemory>(*iterators_)) {}

BpfProcess::~BpfProcess() = default;

Result<std::unique_ptr<BpfProcess>> BpfProcess::open(Pid pid) {
  auto live = LiveProcess::open(pid);
  if (!live) return std::move(live).error();
  auto iterators = TaskIterators::load(pid);
  if (!iterators) return std::move(iterators).error();
  return std::unique_ptr<BpfProcess>(new BpfProcess(*std::move(live), *std::move(iterators)));
}

Result<std::vector<Mapping>> BpfProcess::mappings() const {
  auto known = live_->mappings();
  if (known || known.error().code != ErrorCode::kPermission) return known;
  return list_mappings(*iterators_);
}

Result<UniqueFd> BpfProcess::open_file(const Mapping& mapping) const {
  auto file = live_->open_file(mapping);
  if (file || file.error().code != ErrorCode::kPermission) return file;
  return open_by_name(mapping);
}

// The kernel refuses /proc/PID/root, so this looks for the name in labelscope's own root. The
// process may have another root, and the file here may be a different one: require_same() compares.
Result<UniqueFd> BpfProcess::open_by_name(const Mapping& mapping) const {
  auto file = open_regular_file(mapping.path);
  if (!file) return Error{file.error().code, mapping.path + " " + file.error().context};
  if (Status status = require_same(mapping, file->get()); !status) return std::move(status).error();
  return file;
}

// Compares the inode number, and the first mapped page or less. The device number does not help: on
// some file systems it is different in maps and in stat.
Status BpfProcess::require_same(const Mapping& mapping, int file) const {
  const Error other{ErrorCode::kNotFound,
                    mapping.path +
                        " is not the file that is mapped; opening the mapped one needs "
                        "CAP_SYS_PTRACE (and CAP_CHECKPOINT_RESTORE if it has no name)"};
  struct stat found {};
  if (::fstat(file, &found) != 0) return system_error(errno, mapping.path);
  if (found.st_ino != mapping.file.inode) return other;
  if (mapping.writable || !mapping.readable) return {};
  std::array<std::byte, 4096> in_file{};
  std::array<std::byte, 4096> in_memory{};
  const ssize_t got =
      ::pread(file, in_file.data(), in_file.size(), static_cast<off_t>(mapping.file_offset));
  if (got <= 0) return other;
  const auto size = static_cast<std::size_t>(got);
  if (Status status = memory_->read(mapping.start, std::span(in_memory).first(size)); !status) {
    return status;
  }
  return std::memcmp(in_file.data(), in_memory.data(), size) == 0 ? Status() : Status(other);
}

std::optional<Address> BpfProcess::program_headers_address() const {
  if (auto known = live_->program_headers_address()) return known;
  std::optional<Address> found;
  // If there is no answer, the planner works without it.
  (void)iterators_->run(TaskIterators::Kind::kAuxv, {}, [&](std::span<const std::byte> record) {
    found = find_auxiliary(record.subspan(sizeof(ls_task_record)), AT_PHDR);
    return Status();
  }, {});
  return found;
}

}  // namespace labelscope
