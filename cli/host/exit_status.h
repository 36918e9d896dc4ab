// What labelscope's exit status means. docs/man/labelscope.1 has it for users.
#pragma once

#include "labelscope/result.h"

namespace labelscope::cli {

enum ExitStatus : int {
  kExitOk = 0,
  kExitRuntimeError = 1,
  kExitUsage = 2,
  kExitNoTarget = 3,    // no such process, or it ended before any sample
  kExitPermission = 4,  // a capability or another user is needed
  kExitNoSample = 5,    // the recording worked and caught nothing
  // check uses two of these with other meanings. It does not pass on the status of its command.
  kExitFindings = 1,
  kExitUnchecked = 3,  // unreadable, nothing published, no labels seen, or the program failed
  // `record -- CMD` exits with the command's own status. If it could not start the command, with
  // the same as a shell:
  kExitNotExecutable = 126,
  kExitCommandNotFound = 127,
  kExitGivenUp = 130,  // second Ctrl-C
};

// The target is not there, or not any more.
inline bool is_gone(const Error& error) {
  return error.code == ErrorCode::kVanished || error.code == ErrorCode::kNotFound;
}

// Of output files that could not be opened. Wrong usage is what no other state of the disk makes
// right: one file twice, or bytes for a terminal.
inline int status_of_outputs(const Error& error) {
  return error.code == ErrorCode::kUnsupported ? kExitUsage : kExitRuntimeError;
}

// Of record and dump, whose errors are about their targets.
inline int status_of(const Error& error) {
  if (error.code == ErrorCode::kPermission) return kExitPermission;
  return is_gone(error) ? kExitNoTarget : kExitRuntimeError;
}

}  // namespace labelscope::cli
