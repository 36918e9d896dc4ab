#include "cli/record/missing_names.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cli/text/escape.h"
#include "cli/text/shares.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

// A smaller share of all frames than this is not worth a line.
constexpr std::uint64_t kWorthOf1000 = 10;
constexpr std::size_t kMostFiles = 3;

struct File {
  std::uint64_t frames = 0;  // each counts as often as it was sampled
  std::uint64_t nameless = 0;
  std::string why;
  std::string left_out;  // although all have names
};

// Reports once for each file that inlined calls are missing, since every frame has a name and
// nothing else shows it.
void add_left_out(const std::vector<std::pair<std::string, File>>& files, std::uint64_t frames,
                  std::vector<std::string>& lines) {
  std::size_t shown = 0;
  for (const auto& [path, file] : files) {
    // Where names are missing as well, the reason for these has both.
    if (file.nameless != 0 || file.left_out.empty()) continue;
    if (share_of_1000(file.frames, frames) < kWorthOf1000) continue;
    if (++shown > kMostFiles) break;
    lines.push_back("Something is left out of " + escape_terminal(path) + " (" +
                    percent(file.frames, frames) +
                    " of the frames): " + escape_terminal(file.left_out));
  }
}

}  // namespace

std::vector<std::string> missing_names(const Profile& profile) {
  std::map<std::string, File> files;  // modules of one file in several processes are one entry
  std::uint64_t frames = 0;
  std::uint64_t nameless = 0;
  for (const SampleRow& row : profile.rows) {
    if (row.stack == kNoIndex) continue;
    for (const Index index : profile.stacks[row.stack].frames) {
      frames += row.count;
      const Location& location = profile.locations[index];
      const bool named = location.has_name();
      nameless += named ? 0 : row.count;
      if (location.module == kNoIndex) continue;
      const ProfileModule& module = profile.modules[location.module];
      File& file = files[module.path];
      file.frames += row.count;
      if (named && module.symbol_problem.empty()) continue;
      if (named) {
        file.left_out = module.symbol_problem;
        continue;
      }
      file.nameless += row.count;
      file.why = module.symbol_problem;
    }
  }
  std::vector<std::pair<std::string, File>> worst(files.begin(), files.end());
  std::vector<std::string> lines;
  add_left_out(worst, frames, lines);
  if (share_of_1000(nameless, frames) < kWorthOf1000) return lines;
  std::stable_sort(worst.begin(), worst.end(), [](const auto& a, const auto& b) {
    return a.second.nameless > b.second.nameless;
  });
  lines.push_back(percent(frames - nameless, frames) + " of the frames have a name. Without one:");
  const std::size_t before = lines.size();
  for (const auto& [path, file] : worst) {
    if (lines.size() - before >= kMostFiles || share_of_1000(file.nameless, frames) < kWorthOf1000)
      break;
    lines.push_back("  " + percent(file.nameless, frames) + " in " + escape_terminal(path) + " (" +
                    with_thousands(file.nameless) + " of its " + with_thousands(file.frames) +
                    " frames): " + escape_terminal(file.why));
    nameless -= file.nameless;
  }
  if (nameless != 0 && lines.size() > before) {
    lines.push_back("  " + percent(nameless, frames) + " elsewhere");
  }
  return lines;
}

}  // namespace labelscope::cli
