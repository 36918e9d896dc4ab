// This is what labelscope gives up as soon as it can, and the few rights that it keeps.
//
// It is started with the rights of root, or with some of them. It needs most of them only for a
// moment: to load BPF programs and to open events. After that it reads the memory of its targets,
// hostile ones too. So in between it drops every right that the rest of the run does not need:
//
//   load, open events and files  -->  drop_rights()  -->  read targets, name, write
//                                       capabilities: all but those of the table in rights.cc
//                                       NoNewPrivs: executing a program brings none back
//                                       --drop-to: user, group and supplementary groups
//
// docs/security.md describes what that protects from.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "labelscope/result.h"

namespace labelscope::cli {

// Work that is still to be done, as bits. Each capability that stays is for some of it.
enum RemainingWork : unsigned {
  kReadsTargets = 1,     // memory, files and threads of processes of other users
  kStopsThreads = 2,     // stops each for a moment
  kReadsFiles = 4,       // files of other users
  kNamesKernel = 8,      // names functions of the kernel
  kLoadsBpf = 16,        // loads one object for each process that ptrace may not read
  kUsesBpfMaps = 32,     // makes maps while it records, or has a kernel that asks with each access
  kSignalsCommand = 64,  // the command may have become another user
  kNamesOutputs = 128,   // writes into a folder of another user, or replaces another user's file
  kStartsWorkers = 256,  // starts processes that read foreign files (only root needs rights for it)
};

// A right of the table in rights.cc, for the user to read.
struct RightHeld {
  std::string name;  // "cap_bpf", or the one that stands in for it and is held
  const char* purpose;
  bool held;
  bool can_be_had;  // it is in the bounding set: a program that is executed may get it
};
// Returns the rights that this work asks for.
std::vector<RightHeld> rights_for(unsigned work);

struct User {
  uid_t uid{};
  gid_t gid{};
  std::string name;
};
// Finds the user by name or number; nullopt: there is none.
std::optional<User> find_user(const std::string& name_or_number);

// The rights of a file with capabilities (setcap) are for looking at processes. They are not for
// what the user names on the command line: a recording, a list of names, a preset, an output. That
// is opened with the user's own rights, while this object lives. For root nothing changes, because
// root's rights are the user's own.
class UsersOwnRights {
 public:
  UsersOwnRights();
  ~UsersOwnRights();
  UsersOwnRights(const UsersOwnRights&) = delete;
  UsersOwnRights& operator=(const UsersOwnRights&) = delete;
};

// Returns whether labelscope runs with rights that its user does not have (setcap).
bool has_lent_rights();

// Call it once, while there is one thread. With a user, labelscope becomes that user, too.
// `can_name_outputs` is called with only the rights that `work` needs: if it returns false,
// kNamesOutputs is added to the work, and its rights stay. An error means that a right is still
// there that should be gone, and nothing may be read from a target.
Status drop_rights(unsigned work, const std::optional<User>& user,
                   const std::function<bool()>& can_name_outputs = {});

}  // namespace labelscope::cli
