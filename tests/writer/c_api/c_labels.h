// Short helpers for the C API in tests: strings, labels, and a set object that frees itself.
#pragma once

#include <cstddef>
#include <string_view>

#include "customlabels/customlabels.h"
#include "writer/labels.h"

inline custom_labels_string_t raw(std::string_view text) {
  return {text.size(), reinterpret_cast<const unsigned char*>(text.data())};
}
inline custom_labels_label_t raw(std::string_view key, std::string_view value) {
  return {raw(key), raw(value)};
}
inline std::string_view view(const custom_labels_string_t& string) {
  return {reinterpret_cast<const char*>(string.buf), string.len};
}

inline custom_labels_result_t set(std::string_view key, std::string_view value) {
  return custom_labels_thread_set(key.data(), key.size(), value.data(), value.size());
}

// Returns the labels of any set, in the order of the keys.
Labels labels_of(const custom_labels_labelset_t* set);

// A test case that starts and ends without labels of either mode.
struct Unlabelled {
  Unlabelled() { reset(); }
  ~Unlabelled() { reset(); }
  Unlabelled(const Unlabelled&) = delete;
  Unlabelled& operator=(const Unlabelled&) = delete;

 private:
  static void reset() {
    custom_labels_replace(nullptr);
    custom_labels_thread_clear_trace();
    custom_labels_thread_clear();
  }
};

class SetObject {
 public:
  explicit SetObject(std::size_t capacity = 0) : set_(custom_labels_new(capacity)) {}
  explicit SetObject(const Labels& labels) : SetObject() {
    for (const auto& [key, value] : labels) put(key, value);
  }
  ~SetObject() { custom_labels_free(set_); }
  SetObject(const SetObject&) = delete;
  SetObject& operator=(const SetObject&) = delete;

  int put(std::string_view key, std::string_view value) {
    return custom_labels_set(set_, raw(key), raw(value), nullptr);
  }
  custom_labels_labelset_t* get() const { return set_; }
  Labels labels() const { return labels_of(set_); }

 private:
  custom_labels_labelset_t* set_;
};
