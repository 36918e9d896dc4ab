// The exit status of labelscope. docs/man/labelscope.1 explains it to users.
#pragma once

#include "labelscope/result.h"

namespace labelscope::cli {

enum ExitStatus : int {
  kExitOk = 0,
  kExitRuntimeError = 1,
  kExitUsage = 2,
  kExitNoTarget = 3,    // there is no such process, or it ended before any sample
  kExitPermission = 4,  // a capability or another user is needed
  kExitNoSample = 5,    // the recording succeeded, but it has no sample
  kExitAccount = 6,     // with --strict: two accounts of the recording's time differ
  // check uses two of these with other meanings. It does not pass on the status of its command.
  kExitFindings = 1,
  kExitUnchecked = 3,  // unreadable, nothing published, no labels seen, or the program failed
  // `record -- CMD` exits with the command's own status. If it could not start the command, it
  // exits with the status that a shell has then:
  kExitNotExecutable = 126,
  kExitCommandNotFound = 127,
  kExitGivenUp = 130,  // after a second Ctrl-C
};

// Returns whether the target does not exist, or not any more.
inline bool is_gone(const Error& error) {
  return error.code == ErrorCode::kVanished || error.code == ErrorCode::kNotFound;
}

// Returns the status for output files that could not be opened. It is wrong usage if no other state
// of the disk would help: one file named twice, or bytes for a terminal.
inline int status_of_outputs(const Error& error) {
  return error.code == ErrorCode::kUnsupported ? kExitUsage : kExitRuntimeError;
}

// Returns the status of record and dump, whose errors are about their targets.
inline int status_of(const Error& error) {
  if (error.code == ErrorCode::kPermission) return kExitPermission;
  return is_gone(error) ? kExitNoTarget : kExitRuntimeError;
}

}  // namespace labelscope::cli
