#include "bpf/unwind/growing_array.h"

#include <bpf/bpf.h>
#include <sys/mman.h>

#include <cerrno>
#include <utility>

namespace labelscope {

GrowingBytes& GrowingBytes::operator=(GrowingBytes&& other) noexcept {
  std::swap(outer_fd_, other.outer_fd_);
  std::swap(shape_, other.shape_);
  std::swap(first_, other.first_);
  std::swap(parts_, other.parts_);
  return *this;
}

GrowingBytes::~GrowingBytes() {
  for (const Part& part : parts_) ::munmap(part.memory, part_size());
}

Status GrowingBytes::reach(std::uint64_t end) {
  while (parts_.size() * part_size() < end) {
    if (Status status = add_part(); !status) return status;
  }
  return {};
}

Status GrowingBytes::add_part() {
  const auto number = static_cast<std::uint32_t>(parts_.size());
  DECLARE_LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
  const bool is_there = first_.valid();
  UniqueFd map = std::move(first_);
  if (!is_there) {
    map = UniqueFd(bpf_map_create(BPF_MAP_TYPE_ARRAY, shape_.name, sizeof(std::uint32_t),
                                  shape_.value_size, shape_.values, &options));
  }
  if (!map.valid()) return system_error(errno, "cannot make a map for the unwinder");
  void* memory = ::mmap(nullptr, part_size(), PROT_READ | PROT_WRITE, MAP_SHARED, map.get(), 0);
  if (memory == MAP_FAILED) return system_error(errno, "cannot map the unwinder's tables");
  const int fd = map.get();
  parts_.push_back({std::move(map), static_cast<std::byte*>(memory)});
  if (is_there || bpf_map_update_elem(outer_fd_, &number, &fd, BPF_ANY) == 0) return {};
  const int error = errno;
  ::munmap(memory, part_size());
  parts_.pop_back();
  return system_error(error, "cannot add a map for the unwinder");
}

}  // namespace labelscope
