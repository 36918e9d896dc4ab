// These are labels in the way of Go's runtime/pprof, for C++17: labels for the duration of a call,
// and a context that carries them to other threads.
//
//   namespace labels = customlabels::labels;
//
//   labels::Do(labels::Labels("tenant", tenant, "http.route", "/pay"), [&] { serve(request); });
//
//   std::jthread worker(labels::Inherit([&] { compress(part); }));  // profiled as its creator is
//
// Readers see what customlabels/writer.h promises: each entry and each exit is one store, and
// nothing in between is ever visible. A program that would rather change single labels of its
// thread uses customlabels/labels.hpp; both may be used together.
//
// Labels never stop the program: if they cannot be set (a full set, an empty key, no memory for a
// thread's first label), the function is called all the same, under the labels from before.
// customlabels::Scope::result() reports such a failure; the limits are in customlabels/writer.h.
#pragma once

#if __cplusplus < 201703L
#error \
    "customlabels/pprof.hpp needs C++17 (-std=c++17); customlabels/writer.h is for C and older C++"
#endif

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "customlabels/customlabels.h"
#include "customlabels/labels.hpp"

namespace customlabels::labels {

namespace detail {

// Temporaries that own their bytes are kept with the list; all other strings are referred to.
template <class Text>
using Stored =
    std::conditional_t<std::is_lvalue_reference_v<Text> || std::is_trivially_copyable_v<Text>,
                       std::string_view, std::string>;

// A null pointer is no text: it is refused as a key, and is an empty value.
inline std::string_view view(const char* text) noexcept {
  return text == nullptr ? std::string_view() : std::string_view(text);
}
inline std::string_view view(std::string_view text) noexcept { return text; }

template <class Text>
Stored<Text> stored(Text&& text) {
  if constexpr (std::is_same_v<Text, std::string>) {
    return std::move(text);
  } else {
    return Stored<Text>(view(text));
  }
}

inline std::string_view view(const custom_labels_string_t& text) noexcept {
  return {reinterpret_cast<const char*>(text.buf), text.len};
}

inline std::optional<std::string_view> find(custom_labels_labelset_t* set,
                                            std::string_view key) noexcept {
  const custom_labels_label_t* label = custom_labels_get(set, customlabels::detail::raw(key));
  if (label == nullptr) return std::nullopt;
  return view(label->value);
}

[[noreturn]] inline void out_of_memory() {
#if defined(__cpp_exceptions)
  throw std::bad_alloc();
#else
  std::abort();
#endif
}

}  // namespace detail

// Keys and values by turns. Labels() makes it.
template <class... Text>
class LabelList {
 public:
  static_assert(sizeof...(Text) % 2 == 0,
                "Labels() takes keys and values by turns: the last key has no value");
  static constexpr std::size_t kSize = sizeof...(Text) / 2;

  explicit LabelList(Text... text) : text_(std::move(text)...) {}

  // The views are valid as long as this list.
  std::array<customlabels::Label, kSize> views() const noexcept {
    return views(std::make_index_sequence<kSize>());
  }

 private:
  template <std::size_t... I>
  std::array<customlabels::Label, kSize> views(std::index_sequence<I...>) const noexcept {
    return {customlabels::Label(std::get<2 * I>(text_), std::get<2 * I + 1>(text_))...};
  }
  std::tuple<Text...> text_;
};

// Makes a list of labels; the last of two with the same key counts. Strings that are passed as
// lvalues, views and pointers are not copied: they must outlive the list. An odd number is refused
// by the compiler.
template <class... Text>
[[nodiscard]] LabelList<detail::Stored<Text>...> Labels(Text&&... text) {
  static_assert((std::is_convertible_v<Text, std::string_view> && ...), "labels are strings");
  return LabelList<detail::Stored<Text>...>(detail::stored<Text>(std::forward<Text>(text))...);
}

// A Context is a snapshot of labels, of any number and length, that does not change. Copies share
// it, on any threads.
class Context {
 public:
  // A context without labels.
  Context() noexcept = default;

  // Returns the calling thread's labels as they are now, its trace context included. Throws
  // std::bad_alloc.
  [[nodiscard]] static Context capture() { return clone(custom_labels_current()); }

  // Returns this context with more labels: they are added, or replace those with the same keys. If
  // one label of the list is not valid, none is added. Throws std::bad_alloc.
  template <class... Text>
  [[nodiscard]] Context with(const LabelList<Text...>& list) const {
    Context context = set_ == nullptr ? own(custom_labels_new(list.kSize)) : clone(set_.get());
    const auto views = list.views();
    const int error = custom_labels_update(context.set_.get(),
                                           customlabels::detail::raw(views.data()), views.size());
    if (error == ENOMEM) detail::out_of_memory();
    return context;
  }

  bool empty() const noexcept { return custom_labels_count(set_.get()) == 0; }

  // Returns the set, for custom_labels_* functions that do not change one. It is valid as long as a
  // copy of this context.
  custom_labels_labelset_t* set() const noexcept { return set_.get(); }

 private:
  static Context own(custom_labels_labelset_t* set) {
    if (set == nullptr) detail::out_of_memory();
    Context context;
    context.set_ = std::shared_ptr<custom_labels_labelset_t>(set, custom_labels_free);
    return context;
  }
  static Context clone(const custom_labels_labelset_t* set) {
    return set == nullptr ? Context() : own(custom_labels_clone(set));
  }

  std::shared_ptr<custom_labels_labelset_t> set_;  // null: no labels
};

// The calling thread has the context's labels and no others until the end of the scope, and then
// those from before again. Entering and leaving are one store each and allocate nothing. Labels
// that are set within the scope come on top. An Adopted stays on its thread and on the stack, so it
// must not live across a co_await.
class Adopted {
 public:
  explicit Adopted(Context context) noexcept
      : context_(std::move(context)), scope_(context_.set()) {}

 private:
  Context context_;  // stands before scope_: it must live until the thread has left that
  Scope scope_;
};

// Calls fn() with these labels added to the thread's; on return, or when it throws, the labels from
// before are back. Returns what fn returns.
template <class... Text, class Fn>
decltype(auto) Do(const LabelList<Text...>& list, Fn&& fn) {
  const auto views = list.views();
  const Scope scope(views.data(), views.size());
  return std::invoke(std::forward<Fn>(fn));
}

// Does the same with the context's labels in place of the thread's.
template <class Fn>
decltype(auto) Do(Context context, Fn&& fn) {
  const Adopted adopted(std::move(context));
  return std::invoke(std::forward<Fn>(fn));
}

// Does the same with the context's labels and these.
template <class... Text, class Fn>
decltype(auto) Do(Context context, const LabelList<Text...>& list, Fn&& fn) {
  const Adopted adopted(std::move(context));
  return Do(list, std::forward<Fn>(fn));
}

// Returns a callable that calls fn under the labels that were current when Inherit was called: for
// a new thread, a task of a pool, a callback. It takes the arguments that fn takes.
template <class Fn>
class Inherited {
 public:
  explicit Inherited(Fn fn) : context_(Context::capture()), fn_(std::move(fn)) {}

  template <class... Args>
  std::invoke_result_t<Fn&, Args...> operator()(Args&&... args) {
    const Adopted adopted(context_);
    return std::invoke(fn_, std::forward<Args>(args)...);
  }
  template <class... Args>
  std::invoke_result_t<const Fn&, Args...> operator()(Args&&... args) const {
    const Adopted adopted(context_);
    return std::invoke(fn_, std::forward<Args>(args)...);
  }

 private:
  Context context_;
  Fn fn_;
};
template <class Fn>
[[nodiscard]] Inherited<std::decay_t<Fn>> Inherit(Fn&& fn) {
  return Inherited<std::decay_t<Fn>>(std::forward<Fn>(fn));
}

// Returns the value of one of the thread's labels, or nothing. It is valid until the thread's
// labels change, also by a signal handler. Where handlers change them, ask Context::capture().
inline std::optional<std::string_view> Label(std::string_view key) noexcept {
  return detail::find(custom_labels_current(), key);
}
// Returns the value of one of a context's labels. It is valid as long as a copy of the context.
inline std::optional<std::string_view> Label(const Context& context,
                                             std::string_view key) noexcept {
  return detail::find(context.set(), key);
}

namespace detail {
template <class Fn>
void for_labels(const custom_labels_labelset_t* set, Fn& fn) {
  for (std::size_t i = 0;; ++i) {
    const custom_labels_label_t* label = custom_labels_at(set, i);
    if (label == nullptr || !fn(view(label->key), view(label->value))) return;
  }
}
}  // namespace detail

// Calls fn(key, value) for each label of a context, in no order, until it returns false.
template <class Fn>
void ForLabels(const Context& context, Fn&& fn) {
  detail::for_labels(context.set(), fn);
}
// Does the same with the thread's labels as they are now: neither fn nor a signal handler changes
// what the next call has. Throws std::bad_alloc.
template <class Fn>
void ForLabels(Fn&& fn) {
  ForLabels(Context::capture(), fn);
}

}  // namespace customlabels::labels
