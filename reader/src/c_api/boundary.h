// This is the boundary to C: errors become an ls_error, and no exception passes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "labelscope/labelscope.h"
#include "labelscope/result.h"

namespace labelscope::c_api {

// Both fill `error` if there is one, and return its code.
ls_error_code fail(ls_error* error, ls_error_code code, std::string_view text) noexcept;
ls_error_code fail(ls_error* error, const Error& failure) noexcept;
ls_error_code succeed(ls_error* error) noexcept;

inline ls_bytes bytes_of(const std::string& text) { return {text.c_str(), text.size()}; }
// Returns the bytes of a literal; views of names end with a NUL.
inline ls_bytes bytes_of(std::string_view literal) { return {literal.data(), literal.size()}; }
inline ls_bytes no_bytes() { return {"", 0}; }

// Returns whether a list of `count` pointers is there, and none of them is null; without any, it
// may be null. At most so many are looked at, whatever number a caller passes.
inline constexpr std::size_t kMostListed = 4096;
template <class T>
bool is_list(const T* const* list, std::size_t count) {
  if (count == 0) return true;
  if (list == nullptr || count > kMostListed) return false;
  return std::none_of(list, list + count, [](const T* one) { return one == nullptr; });
}

// Returns the element, or null beyond the end and for a null handle.
template <class T>
const T* element(const std::vector<T>* list, std::size_t index) {
  return list != nullptr && index < list->size() ? &(*list)[index] : nullptr;
}

// Calls `act`, which returns an ls_error_code and fills `error` itself.
template <class Act>
ls_error_code guard(ls_error* error, Act&& act) noexcept {
  try {
    return std::forward<Act>(act)();
  } catch (const std::bad_alloc&) {
    return fail(error, LS_ERROR_NO_MEMORY, "out of memory");
  } catch (const std::exception& unforeseen) {
    return fail(error, LS_ERROR_INTERNAL, unforeseen.what());
  } catch (...) {
    return fail(error, LS_ERROR_INTERNAL, "an exception of an unknown type");
  }
}

// Hands out what `make` returns, a Result<std::unique_ptr<T>>.
template <class T, class Make>
ls_error_code hand_out(T** out, ls_error* error, Make&& make) noexcept {
  *out = nullptr;
  return guard(error, [&] {
    Result<std::unique_ptr<T>> made = std::forward<Make>(make)();
    if (!made) return fail(error, made.error());
    *out = (*made).release();
    return succeed(error);
  });
}

// Does the same, or returns `refusal` if `out` is null or `given` is false (because other pointers
// are null).
template <class T, class Make>
ls_error_code answer(std::string_view refusal, bool given, T** out, ls_error* error,
                     Make&& make) noexcept {
  if (given && out != nullptr) return hand_out(out, error, std::forward<Make>(make));
  if (out != nullptr) *out = nullptr;
  return fail(error, LS_ERROR_ARGUMENT, refusal);
}

// Options begin with their size. A caller that was built when they were shorter, `first_size` bytes
// at least, has not set the newer members: they are 0. One that is newer may have more members, as
// long as they are not used.
inline constexpr std::size_t kMostOptionBytes = 4096;
template <class Options>
std::optional<Options> read_options(const Options* given, std::size_t first_size) {
  Options options{};
  options.size = sizeof(options);
  if (given == nullptr) return options;
  if (given->size < first_size || given->size > kMostOptionBytes) return std::nullopt;
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  const std::size_t known = std::min(given->size, sizeof(options));
  const auto is_used = [](unsigned char byte) { return byte != 0; };
  if (std::any_of(bytes + known, bytes + given->size, is_used)) return std::nullopt;
  std::memcpy(&options, given, known);
  return options;
}

}  // namespace labelscope::c_api
