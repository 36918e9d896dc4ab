// Reading whole maps, and what each processor has in an entry of one.
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "labelscope/result.h"

namespace labelscope {

// Returns what each CPU has in an entry of a per-CPU map.
template <class Value>
Result<std::vector<Value>> of_each_cpu(int map, std::uint32_t entry) {
  const int cpus = libbpf_num_possible_cpus();
  if (cpus < 0) return system_error(-cpus, "cannot find out how many CPUs there are");
  std::vector<Value> each(static_cast<std::size_t>(cpus));
  if (bpf_map_lookup_elem(map, &entry, each.data()) == 0) return each;
  return system_error(errno, "cannot read the counters");
}

template <class Key, class Value>
std::vector<std::pair<Key, Value>> entries_of(int map) {
  std::vector<std::pair<Key, Value>> all;
  Key key{};
  const Key* before = nullptr;
  while (bpf_map_get_next_key(map, before, &key) == 0) {
    Value value{};
    if (bpf_map_lookup_elem(map, &key, &value) == 0) all.emplace_back(key, value);
    before = &key;
  }
  return all;
}

}  // namespace labelscope
