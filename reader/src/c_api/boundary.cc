// Errors as C sees them.
#include "c_api/boundary.h"

#include <algorithm>

namespace labelscope::c_api {
namespace {

ls_error_code code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return LS_ERROR_NOT_FOUND;
    case ErrorCode::kPermission:
      return LS_ERROR_PERMISSION;
    case ErrorCode::kVanished:
      return LS_ERROR_VANISHED;
    case ErrorCode::kUnreadable:
      return LS_ERROR_UNREADABLE;
    case ErrorCode::kMalformed:
      return LS_ERROR_MALFORMED;
    case ErrorCode::kUnsupported:
      return LS_ERROR_UNSUPPORTED;
    case ErrorCode::kLimit:
      return LS_ERROR_LIMIT;
    case ErrorCode::kSystem:
      return LS_ERROR_SYSTEM;
  }
  return LS_ERROR_INTERNAL;
}

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
  return fail(error, code_of(failure.code), failure.context);
}

ls_error_code succeed(ls_error* error) noexcept { return fail(error, LS_OK, {}); }

}  // namespace labelscope::c_api

unsigned ls_api_version(void) { return LS_API_VERSION; }
