// This is the C++ interface of libcustomlabels (C++17): the calling thread's labels, and a guard
// that sets some for a scope.
//
//   customlabels::Scope labels{{"tenant", tenant}, {"http.route", "/pay"}};
//   serve(request);  // profiled under both labels; the labels from before are back afterwards
//
// customlabels/writer.h says what readers see, what each result means, and what the limits are.
#pragma once

#if __cplusplus < 201703L
#error \
    "customlabels/labels.hpp needs C++17 (-std=c++17); customlabels/writer.h is for C and older C++"
#endif

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "customlabels/writer.h"

namespace customlabels {

using Result = custom_labels_result_t;

namespace detail {
inline custom_labels_string_t raw(std::string_view text) noexcept {
  return {text.size(), reinterpret_cast<const unsigned char*>(text.data())};
}
}  // namespace detail

// A Label is a view: it owns nothing, and the library copies what it points to.
class Label {
 public:
  Label(std::string_view key, std::string_view value) noexcept
      : raw_{detail::raw(key), detail::raw(value)} {}

 private:
  custom_labels_label_t raw_;
};

namespace detail {
// A Label is a custom_labels_label_t and nothing else, so an array of one is an array of the other.
static_assert(sizeof(Label) == sizeof(custom_labels_label_t) && std::is_standard_layout_v<Label>);
inline const custom_labels_label_t* raw(const Label* labels) noexcept {
  return reinterpret_cast<const custom_labels_label_t*>(labels);
}
}  // namespace detail

inline Result set(std::string_view key, std::string_view value) noexcept {
  return custom_labels_thread_set(key.data(), key.size(), value.data(), value.size());
}

inline Result remove(std::string_view key) noexcept {
  return custom_labels_thread_remove(key.data(), key.size());
}

inline Result clear() noexcept { return custom_labels_thread_clear(); }

// Sets the trace context, beside the program's labels: both IDs in one publication.
inline Result set_trace(std::uint64_t span_id, std::uint64_t root_span_id) noexcept {
  return custom_labels_thread_set_trace(span_id, root_span_id);
}
inline Result clear_trace() noexcept { return custom_labels_thread_clear_trace(); }

// Allocates the thread's memory now, so that no later call does.
inline Result prepare() noexcept { return custom_labels_thread_prepare(); }

// Sets several labels in one publication; each is added, or replaces the one with its key.
inline Result update(std::initializer_list<Label> labels) noexcept {
  return custom_labels_thread_update(detail::raw(labels.begin()), labels.size());
}
inline Result replace(std::initializer_list<Label> labels) noexcept {
  return custom_labels_thread_replace(detail::raw(labels.begin()), labels.size());
}

// Adds labels, or makes another set current. On every exit from the scope, also by an exception,
// the set from before is current again, or none if there was none. A Scope stays on its thread and
// on the stack (it has room for a thread's set, some 3.5 KiB, and never allocates beyond the
// thread's memory).
class Scope {
 public:
  Scope(const Label* labels, std::size_t count) noexcept
      : result_(custom_labels_thread_enter(&saved_, detail::raw(labels), count)) {}
  Scope(std::initializer_list<Label> labels) noexcept : Scope(labels.begin(), labels.size()) {}
  Scope(std::string_view key, std::string_view value) noexcept : Scope({Label(key, value)}) {}
  // Puts a set of customlabels/customlabels.h in place of the thread's labels, or no labels for
  // null.
  explicit Scope(custom_labels_labelset_t* set) noexcept
      : result_(custom_labels_thread_enter_set(&saved_, set)) {}
  ~Scope() { custom_labels_thread_leave(&saved_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // The result of entering the scope. If it failed, the scope has the labels from before.
  Result result() const noexcept { return result_; }

 private:
  custom_labels_saved_t saved_;  // stands before result_ because enter fills it
  Result result_;
};

}  // namespace customlabels
