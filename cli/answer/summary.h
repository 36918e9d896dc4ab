// Time by label value, for people: the table of --summary and the list of keys after every
// recording. The caller checks the stream, which is a terminal or standard output.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

struct SummaryStyle {
  bool color = false;
  bool unicode = false;         // the terminal's locale is UTF-8: draw bars and dots beyond ASCII
  std::size_t width = 80;       // terminal columns; 0: no terminal, and nothing is cut
  std::size_t max_values = 20;  // rows of a key; the others are added up in one row
  std::size_t functions = 0;    // rows of functions below each value
};

// The row of waits for work (IdleMode::kFold), the last one of a table. It is no part of the whole
// of which shares are.
inline constexpr std::string_view kIdleText = "(idle)";

// Returns the text of a column of this width: cut if there is a terminal, and never otherwise. A
// text that is longer has a line of its own then, so that what follows stands in its columns.
std::string fitted(std::string_view text, std::size_t width, const SummaryStyle& style);

// Writes a table for each key: value, share of all samples, time, samples, bar; below it the
// functions that ran longest themselves. Samples without such a label, unreadable samples and waits
// for work have a row each. Keys mean what they mean in RenderOptions::group_by.
Status render_summary(const Profile& profile, const std::vector<std::string>& keys,
                      const SummaryStyle& style, std::ostream& out);

// Writes the same for programs: a line of JSON for each key (labelscope-record(1)).
Status render_summary_json(const Profile& profile, const std::vector<std::string>& keys,
                           std::ostream& out);

// Writes a line for each label key: share of samples that carry it, number of distinct values, and
// a warning if there are more values than a profile viewer handles well. Without labels it shows
// the functions of all samples.
Status render_label_keys(const Profile& profile, const SummaryStyle& style, std::ostream& out);

}  // namespace labelscope::cli
