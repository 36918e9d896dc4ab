#include "cli/host/static_program.h"

#include <link.h>
#include <nss.h>

#include <algorithm>
#include <clocale>
#include <cstddef>
#include <span>

namespace labelscope::cli {
// Other programs name the interpreter that starts them, even if somebody has started that by hand.
bool is_static_program() {
  static const bool names_none = ::dl_iterate_phdr(
      [](dl_phdr_info* program, std::size_t, void*) {
        const std::span headers(program->dlpi_phdr, program->dlpi_phnum);
        const bool named = std::ranges::any_of(
            headers, [](const auto& header) { return header.p_type == PT_INTERP; });
        return named ? 2 : 1;  // the first one is the program itself, and the only one to look at
      },
      nullptr) == 1;
  return names_none;
}

void prepare_libc() {
  if (is_static_program()) {
    for (const char* database : {"passwd", "group", "initgroups"}) {
      ::__nss_configure_lookup(database, "files");
    }
  }
  std::setlocale(LC_CTYPE, "");
}

const char* where_users_are() {
  return is_static_program() ? " in /etc/passwd, the only place where this program looks" : "";
}

}  // namespace labelscope::cli
