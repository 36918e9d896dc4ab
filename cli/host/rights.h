// What labelscope gives up as soon as it can, and the few rights that it keeps.
//
// It is started with the rights of root, or with some of them. It needs most for a moment: to load
// BPF programs and to open events. From then on it reads what its targets say, hostile ones too. So
// between the two everything goes that the rest of the run has no use for:
//
//   load, open events and files  -->  drop_rights()  -->  read targets, name, write
//                                       capabilities: all but those of the table in rights.cc
//                                       NoNewPrivs: executing a program brings none back
//                                       --drop-to: user, group and supplementary groups
//
// docs/security.md tells what that is worth.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "labelscope/result.h"

namespace labelscope::cli {

// What is still to be done, as bits: each capability that stays is for some of these.
enum RemainingWork : unsigned {
  kReadsTargets = 1,     // processes of other users: their memory, files and threads
  kStopsThreads = 2,     // for a moment each
  kReadsFiles = 4,       // of other users
  kNamesKernel = 8,      // functions of the kernel
  kLoadsBpf = 16,        // one object for each process that ptrace may not look at
  kUsesBpfMaps = 32,     // makes some while it records, or has a kernel that asks each time
  kSignalsCommand = 64,  // which may have become another user
  kNamesOutputs = 128,   // in a folder of another user, or in place of another user's file
};

struct User {
  uid_t uid{};
  gid_t gid{};
  std::string name;
};
// By name or number; nullopt: there is none.
std::optional<User> find_user(const std::string& name_or_number);

// Call it once, while there is one thread. With a user, labelscope becomes that user, too.
// `can_name_outputs` is asked when nothing is left but what `work` needs: if it is false, so is the
// work to be done, and the rights for kNamesOutputs stay, too. An error: something that should be
// gone is still there, and nothing may be read from a target.
Status drop_rights(unsigned work, const std::optional<User>& user,
                   const std::function<bool()>& can_name_outputs = {});

}  // namespace labelscope::cli
