// Reads label sets by the ABI's structures alone, for the tests of the writer.
#include "writer/labels.h"

#include <sys/uio.h>

#include <algorithm>
#include <string_view>

namespace {

constexpr std::size_t kMaxLabels = 64;
constexpr std::size_t kMaxString = 65536;

std::string_view view(const custom_labels_string_t& string, std::string_view if_null) {
  if (string.buf == nullptr) return if_null;
  return {reinterpret_cast<const char*>(string.buf), string.len};
}

bool read_remote(pid_t pid, const void* address, void* to, std::size_t size) {
  iovec local = {to, size};
  iovec remote = {const_cast<void*>(address), size};
  return process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

// Reads all strings of a set with one call, since the tests read a set after every instruction.
class RemoteStrings {
 public:
  // Adds a string to be read; a null string gets the stand-in. Returns false if it is longer than
  // expected.
  bool add(const custom_labels_string_t& string, const char* if_null, std::string& to) {
    if (string.buf == nullptr) {
      to = if_null;
      return true;
    }
    if (string.len > kMaxString) return false;
    to.resize(string.len);
    if (to.empty()) return true;
    local_.push_back({to.data(), to.size()});
    remote_.push_back({const_cast<unsigned char*>(string.buf), to.size()});
    total_ += to.size();
    return true;
  }
  bool read(pid_t pid) const {
    return local_.empty() || process_vm_readv(pid, local_.data(), local_.size(), remote_.data(),
                                              remote_.size(), 0) == static_cast<ssize_t>(total_);
  }

 private:
  std::vector<iovec> local_;
  std::vector<iovec> remote_;
  std::size_t total_ = 0;
};

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
    labels.emplace_back(view(set->storage[i].key, kNullKeyText),
                        view(set->storage[i].value, kNullValueText));
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

bool is_set(const custom_labels_labelset_t* set, const Labels& labels) {
  const std::size_t count = set == nullptr ? 0 : set->count;
  if (count != labels.size()) return false;
  for (const auto& [key, value] : labels) {
    std::size_t i = 0;
    while (i < count && view(set->storage[i].key, kNullKeyText) != key) ++i;
    if (i == count || view(set->storage[i].value, kNullValueText) != value) return false;
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
  labels.resize(storage.size());  // before the addresses of the elements are taken
  RemoteStrings strings;
  for (std::size_t i = 0; i < storage.size(); ++i) {
    if (!strings.add(storage[i].key, kNullKeyText, labels[i].first) ||
        !strings.add(storage[i].value, kNullValueText, labels[i].second))
      return std::nullopt;
  }
  if (!strings.read(pid)) return std::nullopt;
  std::sort(labels.begin(), labels.end());
  return labels;
}
