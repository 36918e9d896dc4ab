// labelscope exists as a program that needs no other file (cli/portable.cmake): it is linked
// statically, and starts on any Linux. libc can still load modules into it, for users, locales and
// the like, and such a module must be of the very libc that is linked in. So it loads none.
#pragma once

namespace labelscope::cli {

// Whether this is that program.
bool is_static_program();

// Call it before anything else asks libc for users or characters. In that program, users and groups
// are those of /etc/passwd and /etc/group alone. In both, characters are those of the user's
// locale.
void prepare_libc();

// What to add where a user was not found: empty in a program that looks everywhere.
const char* where_users_are();

}  // namespace labelscope::cli
