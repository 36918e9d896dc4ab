// This file turns errors into those of the C API.
#include "c_api/boundary.h"

#include <algorithm>
#include <iterator>

namespace labelscope::c_api {
namespace {

// The index is the ErrorCode.
constexpr ls_error_code kCodes[] = {LS_ERROR_NOT_FOUND,  LS_ERROR_PERMISSION, LS_ERROR_VANISHED,
                                    LS_ERROR_UNREADABLE, LS_ERROR_MALFORMED,  LS_ERROR_UNSUPPORTED,
                                    LS_ERROR_LIMIT,      LS_ERROR_SYSTEM,     LS_ERROR_SYSTEM};
static_assert(std::size(kCodes) == static_cast<std::size_t>(ErrorCode::kSystem) + 1);

}  // namespace

ls_error_code fail(ls_error* error, ls_error_code code, std::string_view text) noexcept {
  if (error == nullptr) return code;
  error->code = code;
  const std::size_t length = std::min(text.size(), sizeof(error->text) - 1);
  std::copy_n(text.data(), length, error->text);
  error->text[length] = '\0';
  return code;
}

ls_error_code fail(ls_error* error, const Error& failure) noexcept {
  return fail(error, kCodes[static_cast<std::size_t>(failure.code)], failure.context);
}

ls_error_code succeed(ls_error* error) noexcept { return fail(error, LS_OK, {}); }

}  // namespace labelscope::c_api

unsigned ls_api_version(void) { return LS_API_VERSION; }
