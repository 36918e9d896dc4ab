// All of labelscope reports errors by a Result: a value or an Error. The names are those of
// std::expected, so that it can replace this later (g++ 12 has it in C++23 only, clang 14 not at
// all).
//
//   Result<ElfImage> image = ElfImage::open(std::move(fd));
//   if (!image) return std::move(image).error();
//   use(*image);
//
// Absence is not an error: a function that may find nothing returns Result<std::optional<T>>.
#pragma once

#if __cplusplus < 202002L
#error "the C++ headers of labelscope need C++20 (-std=c++20); labelscope/labelscope.h is for C"
#endif

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace labelscope {

// There are few codes: only those on which some caller acts.
enum class ErrorCode {
  kNotFound,      // there is no such process, file, or symbol
  kPermission,    // the kernel refused; a capability or another user would help
  kVanished,      // the process or thread ended meanwhile
  kUnreadable,    // memory is not mapped or not resident
  kMalformed,     // foreign bytes that contradict themselves or their format
  kUnsupported,   // valid, but outside what labelscope can do
  kLimit,         // a bound of labelscope was reached
  kTooManyFiles,  // no descriptor is left (EMFILE, ENFILE)
  kSystem,        // any other failure of the operating system
};

struct Error {
  ErrorCode code = ErrorCode::kSystem;
  std::string context;  // a clause in plain words: what was tried, on what, and why it failed
};

// Returns the error for a failed system call: it chooses the code by errno_value and appends
// errno's text.
Error system_error(int errno_value, std::string what);

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: same

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return *checked(); }
  const T& value() const& { return *checked(); }
  // Returns by value, unlike std::expected. Otherwise `for (auto& x : *find_all())` would loop over
  // a temporary that is gone.
  T value() && { return std::move(*checked()); }
  T& operator*() & { return *checked(); }
  const T& operator*() const& { return *checked(); }
  T operator*() && { return std::move(*checked()); }
  T* operator->() { return checked(); }
  const T* operator->() const { return checked(); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  T* checked() {
    assert(has_value());
    return std::get_if<0>(&state_);
  }
  const T* checked() const {
    assert(has_value());
    return std::get_if<0>(&state_);
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT: implicit by design
  bool has_value() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  Error error_;
  bool ok_ = true;
};

using Status = Result<void>;

}  // namespace labelscope
