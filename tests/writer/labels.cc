// Reading of label sets by the ABI's structures alone, for the tests of the writer.
#include "writer/labels.h"

#include <sys/uio.h>

#include <algorithm>
#include <string_view>

namespace {

constexpr std::size_t kMaxLabels = 64;
constexpr std::size_t kMaxString = 4096;

const char kNullKey[] = "<null key>";
const char kNullValue[] = "<null value>";

std::string_view view(const custom_labels_string_t& string, std::string_view if_null) {
  if (string.buf == nullptr) return if_null;
  return {reinterpret_cast<const char*>(string.buf), string.len};
}

bool read_remote(pid_t pid, const void* address, void* to, std::size_t size) {
  iovec local = {to, size};
  iovec remote = {const_cast<void*>(address), size};
  return process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

std::optional<std::string> read_remote_string(pid_t pid, const custom_labels_string_t& string,
                                              const char* if_null) {
  if (string.buf == nullptr) return if_null;
  if (string.len > kMaxString) return std::nullopt;
  std::string bytes(string.len, '\0');
  if (string.len > 0 && !read_remote(pid, string.buf, bytes.data(), bytes.size()))
    return std::nullopt;
  return bytes;
}

}  // namespace

Labels with(Labels labels, const std::string& key, const std::string& value) {
  labels = without(std::move(labels), key);
  labels.emplace_back(key, value);
  std::sort(labels.begin(), labels.end());
  return labels;
}

Labels without(Labels labels, const std::string& key) {
  labels.erase(std::remove_if(labels.begin(), labels.end(),
                              [&](const auto& label) { return label.first == key; }),
               labels.end());
  return labels;
}

std::string to_string(const Labels& labels) {
  std::string text = "{";
  for (const auto& [key, value] : labels) {
    text += text.size() > 1 ? ", " : "";
    text += key.substr(0, 20) + "(" + std::to_string(key.size()) + ")=" + value.substr(0, 20) +
            "(" + std::to_string(value.size()) + ")";
  }
  return text + "}";
}

Labels current_labels() {
  Labels labels;
  const custom_labels_labelset_t* set = custom_labels_current_set;
  if (set == nullptr) return labels;
  for (std::size_t i = 0; i < set->count; ++i) {
    labels.emplace_back(view(set->storage[i].key, kNullKey),
                        view(set->storage[i].value, kNullValue));
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

bool is_set(const custom_labels_labelset_t* set, const Labels& labels) {
  const std::size_t count = set == nullptr ? 0 : set->count;
  if (count != labels.size()) return false;
  for (const auto& [key, value] : labels) {
    std::size_t i = 0;
    while (i < count && view(set->storage[i].key, kNullKey) != key) ++i;
    if (i == count || view(set->storage[i].value, kNullValue) != value) return false;
  }
  return true;
}

std::optional<Labels> read_remote_labels(pid_t pid,
                                         const custom_labels_labelset_t* const* variable) {
  const custom_labels_labelset_t* address = nullptr;
  if (!read_remote(pid, variable, &address, sizeof(void*))) return std::nullopt;
  Labels labels;
  if (address == nullptr) return labels;
  custom_labels_labelset_t set = {};
  if (!read_remote(pid, address, &set, sizeof(set)) || set.count > kMaxLabels) return std::nullopt;
  std::vector<custom_labels_label_t> storage(set.count);
  if (!storage.empty() &&
      !read_remote(pid, set.storage, storage.data(), storage.size() * sizeof(storage[0])))
    return std::nullopt;
  for (const custom_labels_label_t& label : storage) {
    std::optional<std::string> key = read_remote_string(pid, label.key, kNullKey);
    std::optional<std::string> value = read_remote_string(pid, label.value, kNullValue);
    if (!key || !value) return std::nullopt;
    labels.emplace_back(std::move(*key), std::move(*value));
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}
