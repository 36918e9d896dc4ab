// This is the boundary to C: errors become an ls_error, and no exception passes.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
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

// Returns the element, or null beyond the end and for a null handle.
template <class T>
const T* element(const std::vector<T>* list, std::size_t index) {
  return list != nullptr && index < list->size() ? &(*list)[index] : nullptr;
}

// Hands out what `make` returns, a Result<std::unique_ptr<T>>.
template <class T, class Make>
ls_error_code hand_out(T** out, ls_error* error, Make&& make) noexcept {
  *out = nullptr;
  try {
    Result<std::unique_ptr<T>> made = std::forward<Make>(make)();
    if (!made) return fail(error, made.error());
    *out = (*made).release();
    return succeed(error);
  } catch (const std::bad_alloc&) {
    return fail(error, LS_ERROR_NO_MEMORY, "out of memory");
  } catch (const std::exception& unforeseen) {
    return fail(error, LS_ERROR_INTERNAL, unforeseen.what());
  } catch (...) {
    return fail(error, LS_ERROR_INTERNAL, "an exception of an unknown type");
  }
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

}  // namespace labelscope::c_api
