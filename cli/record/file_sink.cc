#include "cli/record/file_sink.h"

#include <utility>

#include "cli/host/rights.h"
#include "cli/text/escape.h"

namespace labelscope::cli {

Status FileSink::begin(const std::string& base_name) {
  const UsersOwnRights own;
  auto outputs = Outputs::open(options_.outputs, options_.format, options_.overwrite, base_name);
  if (!outputs) {
    // In front, because the clause ends with what to do.
    const std::string who =
        drop_to_ ? "as " + drop_to_->name + ", whom --drop-to names: " : std::string();
    return Error{outputs.error().code, escape_terminal(who + outputs.error().context)};
  }
  outputs_.emplace(*std::move(outputs));
  return {};
}

Status FileSink::take(const Window& window) {
  RenderOptions rendering;
  rendering.group_by = options_.group_by;
  written_ = outputs_->write(window.profile, window.shown, rendering);
  if (written_.errors.empty()) return {};
  return written_.errors.front();
}

}  // namespace labelscope::cli
