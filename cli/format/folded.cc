// Folded stacks, the input of flame graph tools: groups, process, frames, nanoseconds.
#include <ostream>
#include <string>

#include "cli/format/common/frame_lines.h"
#include "cli/format/common/rows.h"
#include "cli/format/format.h"
#include "cli/text/text.h"

namespace labelscope::cli {

Status render_folded(const Profile& profile, const RenderOptions& options, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  const FrameLines lines(profile, options);
  std::string text;
  for (const FrameLines::Line& line : lines.lines()) {
    lines.write(line, text);
    out << text << ' ' << line.weight_ns << '\n';
    if (!out) break;
  }
  return flush_output(out);
}

}  // namespace labelscope::cli
