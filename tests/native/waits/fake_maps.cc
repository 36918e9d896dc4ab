#include "native/waits/fake_maps.h"

#include <linux/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>

namespace labelscope::test {

std::uint32_t fake_processor = 0;
bool fake_ring_is_full = false;
bool fake_refuses_work = false;
std::function<void()> fake_interruption;

namespace {

struct Element {
  Bytes key;
  Bytes value;
  std::uint64_t used = 0;  // when it was looked up, for maps that forget
};

struct Map {
  std::uint32_t most = 0;
  bool refuses = false;
  std::map<Bytes, std::unique_ptr<Element>> elements;
  std::vector<Bytes> stack;
};

struct Work {
  const void* task;
  std::byte* work;
  std::string map;
  int (*callback)(bpf_map* map, void* key, void* value);
};

std::map<std::string, Map> maps;
std::map<std::string, std::uint32_t> sizes;
std::deque<std::unique_ptr<Element>> removed;  // programs may still have pointers to them
std::vector<Work> works;
std::vector<Bytes> records;
std::uint64_t uses = 0;

// The size of the source is known once a program has used the map.
Map& map_of(const fake_kind& kind) {
  Map& map = maps[kind.name];
  if (map.most != 0) return map;
  const auto size = sizes.find(kind.name);
  map.most = size == sizes.end() ? kind.most : size->second;
  return map;
}

bool is_array(const fake_kind& kind) {
  return kind.type == BPF_MAP_TYPE_ARRAY || kind.type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

Bytes copy(const void* from, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(from);
  return {first, first + size};
}

Bytes key_in(const fake_kind& kind, const void* key) {
  Bytes bytes = copy(key, kind.key_size);
  if (kind.type != BPF_MAP_TYPE_PERCPU_ARRAY) return bytes;
  const Bytes processor = bytes_of(fake_processor);
  bytes.insert(bytes.end(), processor.begin(), processor.end());
  return bytes;
}

// A program that has found the element may go on to use it. Its work is never run.
void remove(Map& map, std::map<Bytes, std::unique_ptr<Element>>::iterator at) {
  const std::byte* first = at->second->value.data();
  const std::byte* last = first + at->second->value.size();
  std::erase_if(works, [&](const Work& work) { return work.work >= first && work.work < last; });
  removed.push_back(std::move(at->second));
  map.elements.erase(at);
}

void* add(Map& map, const Bytes& key, Bytes value) {
  auto made = std::make_unique<Element>(Element{key, std::move(value), ++uses});
  void* place = made->value.data();
  const auto before = map.elements.find(key);
  if (before != map.elements.end()) remove(map, before);
  map.elements[key] = std::move(made);
  return place;
}

}  // namespace

void begin_maps() {
  maps.clear();
  sizes.clear();
  removed.clear();
  works.clear();
  records.clear();
  fake_processor = 0;
  fake_ring_is_full = false;
  fake_refuses_work = false;
  fake_interruption = nullptr;
}

void set_map_size(const std::string& name, std::uint32_t most) {
  sizes[name] = most;
  const auto made = maps.find(name);
  if (made != maps.end()) made->second.most = most;
}

void refuse_elements(const std::string& name, bool refuse) { maps[name].refuses = refuse; }

void put_element(const std::string& name, const Bytes& key, const Bytes& value) {
  Map& map = maps[name];
  if (key.empty()) {
    map.stack.push_back(value);
  } else {
    add(map, key, value);
  }
}

void remove_element(const std::string& name, const Bytes& key) {
  const auto found = maps[name].elements.find(key);
  if (found != maps[name].elements.end()) remove(maps[name], found);
}

void forget_storage(const void* owner) { remove_element("label_memories", bytes_of(owner)); }

std::vector<std::pair<Bytes, Bytes>> elements_of(const std::string& name) {
  std::vector<std::pair<Bytes, Bytes>> all;
  for (const auto& [key, element] : maps[name].elements) all.emplace_back(key, element->value);
  return all;
}

std::size_t count_elements(const std::string& name) { return maps[name].elements.size(); }

std::vector<Bytes> take_records() { return std::exchange(records, {}); }

bool has_work(const void* task) {
  return std::ranges::any_of(works, [&](const Work& work) { return work.task == task; });
}

void run_work(const void* task) {
  for (;;) {
    const auto next =
        std::ranges::find_if(works, [&](const Work& work) { return work.task == task; });
    if (next == works.end()) return;
    const Work work = *next;
    works.erase(next);
    for (const auto& [key, element] : maps[work.map].elements) {
      std::byte* first = element->value.data();
      if (work.work < first || work.work >= first + element->value.size()) continue;
      Bytes own_key = key;
      work.callback(nullptr, own_key.data(), first);
      break;
    }
  }
}

}  // namespace labelscope::test

using namespace labelscope::test;

void* fake_lookup(fake_kind kind, const void* key) {
  Map& map = map_of(kind);
  const Bytes bytes = key_in(kind, key);
  const auto found = map.elements.find(bytes);
  if (found != map.elements.end()) {
    found->second->used = ++uses;
    return found->second->value.data();
  }
  if (!is_array(kind) || object_of<std::uint32_t>(bytes) >= map.most) return nullptr;
  return add(map, bytes, Bytes(kind.value_size));
}

long fake_update(fake_kind kind, const void* key, const void* value, __u64 flags) {
  Map& map = map_of(kind);
  const Bytes bytes = key_in(kind, key);
  const auto before = map.elements.find(bytes);
  const bool is_there = before != map.elements.end();
  if (flags == BPF_NOEXIST && is_there) return -EEXIST;
  if (flags == BPF_EXIST && !is_there) return -ENOENT;
  if (map.refuses && !is_there) return -ENOMEM;
  if (!is_there && map.elements.size() >= map.most) {
    if (kind.type != BPF_MAP_TYPE_LRU_HASH) return -E2BIG;
    const auto oldest = std::ranges::min_element(
        map.elements, {}, [](const auto& entry) { return entry.second->used; });
    if (oldest != map.elements.end()) remove(map, oldest);
  }
  add(map, bytes, copy(value, kind.value_size));
  return 0;
}

long fake_delete(fake_kind kind, const void* key) {
  Map& map = map_of(kind);
  const auto found = map.elements.find(key_in(kind, key));
  if (found == map.elements.end()) return -ENOENT;
  remove(map, found);
  return 0;
}

long fake_pop(fake_kind kind, void* value) {
  Map& map = map_of(kind);
  if (map.stack.empty()) return -ENOENT;
  std::memcpy(value, map.stack.back().data(), kind.value_size);
  map.stack.pop_back();
  return 0;
}

long fake_push(fake_kind kind, const void* value) {
  map_of(kind).stack.push_back(copy(value, kind.value_size));
  return 0;
}

void* fake_storage(fake_kind kind, const void* owner) {
  Map& map = map_of(kind);
  const Bytes key = bytes_of(owner);
  const auto found = map.elements.find(key);
  if (found != map.elements.end()) return found->second->value.data();
  return map.refuses ? nullptr : add(map, key, Bytes(kind.value_size));
}

long fake_send(const void* record, __u64 size) {
  if (fake_ring_is_full) return -EAGAIN;
  records.push_back(copy(record, size));
  return 0;
}

void fake_before_atomic(void) {
  if (fake_interruption) fake_interruption();
}

long fake_schedule(void* task, void* work, fake_kind kind,
                   int (*callback)(bpf_map* map, void* key, void* value)) {
  if (fake_refuses_work) return -EBUSY;
  works.push_back({task, static_cast<std::byte*>(work), kind.name, callback});
  return 0;
}
