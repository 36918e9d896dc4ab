// Error codes from errno, in one place.
#include "labelscope/result.h"

#include <cerrno>
#include <system_error>

namespace labelscope {
namespace {

ErrorCode code_of(int errno_value) {
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EPERM:
    case EACCES:
      return ErrorCode::kPermission;
    case ESRCH:
      return ErrorCode::kVanished;
    case EFAULT:
      return ErrorCode::kUnreadable;
    case ENOSYS:
    case EOPNOTSUPP:
      return ErrorCode::kUnsupported;
    default:
      return ErrorCode::kSystem;
  }
}

}  // namespace

Error system_error(int errno_value, std::string what) {
  what += ": ";
  what += std::generic_category().message(errno_value);
  return Error{code_of(errno_value), std::move(what)};
}

}  // namespace labelscope
