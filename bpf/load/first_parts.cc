#include "bpf/load/first_parts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cstdint>
#include <utility>

#include "base/deaf_thread.h"

namespace labelscope {

FirstParts::FirstParts(bpf_object* object) {
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    if (bpf_map__type(map) == BPF_MAP_TYPE_ARRAY_OF_MAPS) make(map);
  }
}

void FirstParts::make(bpf_map* map) {
  const bpf_map* shape = bpf_map__inner_map(map);
  if (shape == nullptr) return;
  const std::string name = bpf_map__name(map);  // reusing a map replaces its own
  DECLARE_LIBBPF_OPTS(bpf_map_create_opts, of_part, .map_flags = bpf_map__map_flags(shape));
  UniqueFd part(bpf_map_create(bpf_map__type(shape), name.c_str(), bpf_map__key_size(shape),
                               bpf_map__value_size(shape), bpf_map__max_entries(shape), &of_part));
  if (!part.valid()) return;
  DECLARE_LIBBPF_OPTS(bpf_map_create_opts, of_array,
                      .inner_map_fd = static_cast<std::uint32_t>(part.get()),
                      .map_flags = bpf_map__map_flags(map));
  UniqueFd array(bpf_map_create(bpf_map__type(map), name.c_str(), sizeof(std::uint32_t),
                                sizeof(std::uint32_t), bpf_map__max_entries(map), &of_array));
  if (!array.valid() || bpf_map__reuse_fd(map, array.get()) != 0) return;
  Part& made = parts_[name];
  made.map = std::move(part);
  made.array = std::move(array);
  const auto update = [&made] {
    const std::uint32_t first = 0;
    const int fd = made.map.get();
    made.failed = bpf_map_update_elem(made.array.get(), &first, &fd, BPF_ANY) != 0;
  };
  made.update = start_deaf_thread(update);
  if (!made.update.joinable()) update();
}

void FirstParts::settle() {
  for (auto& [name, part] : parts_) {
    if (part.update.joinable()) part.update.join();
    part.array.reset();
  }
}

UniqueFd FirstParts::take(std::string_view name) {
  const auto found = parts_.find(name);
  if (found == parts_.end() || found->second.failed) return {};
  return std::move(found->second.map);
}

}  // namespace labelscope
