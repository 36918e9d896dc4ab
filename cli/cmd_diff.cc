// Reads two recordings, compares them, renders the differences.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <set>
#include <span>

#include "cli/answer/comparison.h"
#include "cli/commands.h"
#include "cli/host/exit_status.h"
#include "cli/host/log.h"
#include "cli/host/rights.h"
#include "cli/report/outputs.h"
#include "cli/report/profile_report.h"
#include "cli/report/read_recordings.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

std::string shown_name(const std::string& path) {
  return path == "-" ? "stdin" : escape_terminal(path);
}

// Returns false if the page could not be written; the reason has been printed.
bool write_page(Outputs& outputs, const DiffOptions& options, const std::string (&names)[2],
                Profile& a, Profile b) {
  auto key = merge_sides(a, std::move(b));
  if (!key) {
    log::error(escape_terminal(key.error().context));
    return false;
  }
  a.command_line = options.command_line;
  RenderOptions rendering;
  rendering.compare_by = *key;
  rendering.source = "A: " + names[0] + ", B: " + names[1];
  const Written written = outputs.write(a, a, rendering);
  for (const Error& error : written.errors) log::error(escape_terminal(error.context));
  for (const WrittenFile& file : written.files) {
    if (file.path != "-") log::info("next: open " + escape_terminal(file.path) + " in a browser");
  }
  return written.errors.empty();
}

}  // namespace

int run(const DiffOptions& options) {
  std::optional<Outputs> outputs;
  if (!options.page.empty()) {
    const UsersOwnRights own;
    auto opened = Outputs::open({options.page}, Format::kHtml, options.overwrite);
    if (!opened) {
      log::error(escape_terminal(opened.error().context));
      return status_of_outputs(opened.error());
    }
    outputs = *std::move(opened);
  }
  ReadRecordings sides[2];
  const std::string names[2] = {shown_name(options.recordings[0]),
                                shown_name(options.recordings[1])};
  auto recordings = open_recordings(options.recordings, outputs ? &*outputs : nullptr);
  if (!recordings) {
    log::error(recordings.error().context);
    return kExitRuntimeError;
  }
  int status = kExitOk;
  for (std::size_t i = 0; i < 2; ++i) {
    sides[i] =
        read_recordings(std::span(*recordings).subspan(i, 1), options.selection, options.value);
    if (!sides[i].profile) return sides[i].status;
    status = std::max(status, sides[i].status);
  }
  for (int i = 0; i < 2; ++i) {
    const Profile& profile = *sides[i].profile;
    if (!profile.rows.empty() && !has_no_values(profile)) continue;
    log::error(names[i] + (!profile.rows.empty() ? ": " + no_values_text(profile)
                           : options.selection.empty()
                               ? " has no samples"
                               : ": " + why_none_is_left(options.selection, sides[i])));
    return status == kExitOk ? static_cast<int>(kExitNoSample) : status;
  }
  auto comparison = Comparison::make(*sides[0].profile, *sides[1].profile, options.keys);
  if (!comparison) {
    log::error(names[1] + ": " + escape_terminal(comparison.error().context));
    return kExitRuntimeError;
  }
  std::set<std::string> known = sides[0].keys;
  known.insert(sides[1].keys.begin(), sides[1].keys.end());
  warn_of_unknown_keys(options.keys, "--summary", known);
  bool written = !outputs || write_page(*outputs, options, names, *sides[0].profile,
                                        *std::move(sides[1].profile));
  const bool stdout_is_taken = options.page == "-";
  std::ostream& out = stdout_is_taken ? std::cerr : std::cout;
  errno = 0;
  const Status shown =
      options.json ? render_comparison_json(*comparison, names, out)
                   : render_comparison(*comparison, names,
                                       style_for(options.messages.color,
                                                 stdout_is_taken ? STDERR_FILENO : STDOUT_FILENO),
                                       out);
  if (!shown) {
    log::error(cannot_write("the comparison", errno));
    written = false;
  }
  return written ? status : kExitRuntimeError;
}

}  // namespace labelscope::cli
