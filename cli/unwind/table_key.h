// By what an unwind table that was kept is found again: its file must be the one that the table was
// made of. Three things together decide that.
//
//   identity   device, inode, size, and the time of its last change (ctime)
//   content    a hash of its bytes: numbers of devices (loop, USB, overlayfs) go to other file
//              systems later, in which another file may have the same inode, size and ctime
//   trust      no user without rights can decide what the two are. The file belongs to root or to
//              labelscope's own user, and nobody else may write it. Nor has such a user mounted its
//              file system: not FUSE, not what is mounted nosuid (as fusermount and udisks do for
//              users), and an overlayfs only if labelscope's own mount namespace has it: in another
//              one, it may lie over a FUSE mount, and pass on whatever that says
//
// A build ID would be the same in each container. But a file may claim any, and then the stacks of
// another program would be led by its table.
//
// The vDSO is no file, and known by its bytes alone.
#pragma once

#include <sys/stat.h>
#include <sys/statfs.h>

#include <string>
#include <string_view>

#include "labelscope/unique_fd.h"

namespace labelscope::cli {

// Returns the bytes by which the file is known. They are empty if its table must not be kept. This
// reads the file.
std::string table_key_of(const UniqueFd& file);

// What the kernel says of a file, without a look at its content: returns why its table must not be
// kept, or nothing. `mounts` is the text of /proc/self/mountinfo.
std::string why_not_trusted(const struct stat& status, const struct statfs& system,
                            std::string_view mounts);

}  // namespace labelscope::cli
