/* The maps of BPF programs on the host. Like the kernel's they take their memory beforehand, refuse
 * what does not fit, and put another element in place of one that is replaced: who still has the
 * old one writes to nobody. */
#pragma once

#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bpf_map;
struct fake_kind {
  const char* name; /* the map's */
  __u32 type;
  __u32 key_size; /* 0 for a stack */
  __u32 value_size;
  __u32 most; /* as in the source */
};

/* These return what the kernel's helpers return. */
void* fake_lookup(struct fake_kind kind, const void* key);
long fake_update(struct fake_kind kind, const void* key, const void* value, __u64 flags);
long fake_delete(struct fake_kind kind, const void* key);
long fake_pop(struct fake_kind kind, void* value);
long fake_push(struct fake_kind kind, const void* value);
void* fake_storage(struct fake_kind kind, const void* owner);
long fake_send(const void* record, __u64 size);
long fake_schedule(void* task, void* work, struct fake_kind kind,
                   int (*callback)(struct bpf_map* map, void* key, void* value));
/* Something may happen before each atomic instruction of a program. */
void fake_before_atomic(void);

#ifdef __cplusplus
}

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace labelscope::test {

using Bytes = std::vector<std::byte>;

// Empties all maps. Those that are not given a size have that of the source.
void begin_maps();
void set_map_size(const std::string& name, std::uint32_t most);
// From now on the kernel has no memory for new elements of this map.
void refuse_elements(const std::string& name, bool refuse = true);
// Lets the map have the element, whatever the programs do.
void put_element(const std::string& name, const Bytes& key, const Bytes& value);
void remove_element(const std::string& name, const Bytes& key);
// A task is freed, and what was stored with it.
void forget_storage(const void* owner);
std::vector<std::pair<Bytes, Bytes>> elements_of(const std::string& name);
std::size_t count_elements(const std::string& name);

template <class T>
Bytes bytes_of(const T& object) {
  const auto* first = reinterpret_cast<const std::byte*>(&object);
  return {first, first + sizeof(T)};
}
template <class T>
T object_of(const Bytes& bytes) {
  T object{};
  std::memcpy(&object, bytes.data(), sizeof(T));
  return object;
}
template <class Key, class Value>
void put(const std::string& map, const Key& key, const Value& value) {
  put_element(map, bytes_of(key), bytes_of(value));
}
template <class Key, class Value>
std::vector<std::pair<Key, Value>> entries_of(const std::string& map) {
  std::vector<std::pair<Key, Value>> all;
  for (const auto& [key, value] : elements_of(map))
    all.emplace_back(object_of<Key>(key), object_of<Value>(value));
  return all;
}
template <class Value, class Key>
Value value_of(const std::string& map, const Key& key) {
  for (const auto& [have, value] : elements_of(map))
    if (have == bytes_of(key)) return object_of<Value>(value);
  return {};
}

// The processor whose entries of per-CPU maps are used.
extern std::uint32_t fake_processor;
extern bool fake_ring_is_full;
extern bool fake_refuses_work;
// What happens before the next atomic instructions: a thread that runs its work may lose its
// processor there. A program that cannot be interrupted is to be left alone by it.
extern std::function<void()> fake_interruption;

// Takes what was sent, or what is scheduled for a task.
std::vector<Bytes> take_records();
void run_work(const void* task);
bool has_work(const void* task);

}  // namespace labelscope::test
#endif
