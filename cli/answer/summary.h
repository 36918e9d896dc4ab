// Time by label value, for people: the table of --summary and the list of keys after every
// recording. Whoever calls this checks the stream: it is a terminal or standard output.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

struct SummaryStyle {
  bool color = false;
  bool unicode = false;         // bars and dots beyond ASCII: the terminal's locale is UTF-8
  std::size_t width = 80;       // terminal columns; 0: no terminal, and nothing is cut
  std::size_t max_values = 20;  // rows of a key; the rest is added up in one row
  std::size_t functions = 0;    // rows of functions below each
};

// A table for each key: value, share of all samples, time, samples, bar; below it the functions that
// ran longest themselves. The samples that have no such label and those that were unreadable are
// rows of their own. Keys mean what they mean in RenderOptions::group_by.
Status render_summary(const Profile& profile, const std::vector<std::string>& keys,
                      const SummaryStyle& style, std::ostream& out);

// The same for programs: a line of JSON for each key (labelscope-record(1)).
Status render_summary_json(const Profile& profile, const std::vector<std::string>& keys,
                           std::ostream& out);

// A line for each label key seen: share of samples that carry it, number of distinct values, a
// warning where there are more values than a profile viewer handles well. Without labels: the
// functions of all samples.
Status render_label_keys(const Profile& profile, const SummaryStyle& style, std::ostream& out);

}  // namespace labelscope::cli
