// This file chooses error codes from errno.
#include "labelscope/result.h"

#include <sys/resource.h>

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
    case EMFILE:
    case ENFILE:
      return ErrorCode::kTooManyFiles;
    default:
      return ErrorCode::kSystem;
  }
}

// Returns what lifts the limit, if a limit is the cause.
std::string limit_clause(int errno_value) {
  if (errno_value == ENFILE) return " (of all processes together: sysctl fs.file-max)";
  rlimit files{};
  if (errno_value != EMFILE || ::getrlimit(RLIMIT_NOFILE, &files) != 0) return {};
  return " (at most " + std::to_string(files.rlim_cur) + " here; ulimit -n raises it)";
}

}  // namespace

Error system_error(int errno_value, std::string what) {
  what += ": ";
  what += std::generic_category().message(errno_value) + limit_clause(errno_value);
  return Error{code_of(errno_value), std::move(what)};
}

}  // namespace labelscope
