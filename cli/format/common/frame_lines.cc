// Builds two trees, of prefixes and of stacks, and sorts their nodes.
#include "cli/format/common/frame_lines.h"

#include <algorithm>

#include "cli/format/common/rows.h"
#include "cli/text/escape.h"

namespace labelscope::cli {
namespace {

std::string frame_text(const ShownFrame& frame) {
  const bool in_kernel = frame.kind == ShownFrame::Kind::kKernel;
  return escape_folded(frame.name) + (in_kernel ? "_[k]" : "");
}

}  // namespace

FrameLines::FrameLines(const Profile& profile, const RenderOptions& options) : shown_(profile) {
  add_stacks(profile);
  add_lines(profile, options);
  merge();
}

void FrameLines::add_stacks(const Profile& profile) {
  std::vector<FrameTree::Name> names;  // by number of the frame
  for (std::size_t i = 0; i <= profile.stacks.size(); ++i) {
    const Index stack = i < profile.stacks.size() ? static_cast<Index>(i) : kNoIndex;
    FrameTree::Node node = FrameTree::kRoot;
    for (const ShownFrames::Number frame : shown_.stack(stack)) {
      while (names.size() < shown_.frames().size()) {
        names.push_back(tree_.name(frame_text(shown_.frames()[names.size()])));
      }
      node = tree_.child(node, names[frame]);
    }
    stacks_.push_back(node);
  }
}

void FrameLines::add_lines(const Profile& profile, const RenderOptions& options) {
  // Without groups a line does not show labels. Then rows that differ only in them are one row.
  const RowParts parts{.label_set = !options.group_by.empty(), .flags = 0};
  const std::vector<SampleRow> rows = aggregate_rows(profile, parts);
  lines_.reserve(rows.size());
  const SampleRow* before = nullptr;
  for (const SampleRow& row : rows) {
    const bool same_prefix = before != nullptr && before->label_set == row.label_set &&
                             before->thread == row.thread && before->outcome == row.outcome;
    Line line;
    line.prefix = same_prefix ? lines_.back().prefix : prefix_of(row, options);
    line.stack = row.stack == kNoIndex ? stacks_.back() : stacks_[row.stack];
    line.weight_ns = row.weight_ns;
    line.count = row.count;
    lines_.push_back(line);
    before = &row;
  }
}

// The prefix has the process's name and not the thread's, so the numbered threads of a pool share
// their frames. As in perf's output, it is a frame although it is no function.
FrameTree::Node FrameLines::prefix_of(const SampleRow& row, const RenderOptions& options) {
  FrameTree::Node node = FrameTree::kRoot;
  for (const ShownFrames::Number frame : shown_.above(row, options)) {
    node = prefixes_.child(node, prefixes_.name(frame_text(shown_.frames()[frame])));
  }
  return prefixes_.child(node, prefixes_.name(escape_folded(process_title(shown_.rows(), row))));
}

// Puts the lines in the order of their texts and adds up equal ones.
void FrameLines::merge() {
  const std::vector<FrameTree::Node> prefix_places = prefixes_.places();
  const std::vector<FrameTree::Node> places = tree_.places();
  std::sort(lines_.begin(), lines_.end(), [&](const Line& a, const Line& b) {
    if (a.prefix != b.prefix) return prefix_places[a.prefix] < prefix_places[b.prefix];
    return places[a.stack] < places[b.stack];
  });
  std::size_t kept = 0;
  for (const Line& line : lines_) {
    if (kept > 0 && lines_[kept - 1].prefix == line.prefix &&
        lines_[kept - 1].stack == line.stack) {
      lines_[kept - 1].weight_ns += line.weight_ns;
      lines_[kept - 1].count += line.count;
    } else {
      lines_[kept++] = line;
    }
  }
  lines_.resize(kept);
}

void FrameLines::frames(const Line& line, std::vector<const std::string*>& to) const {
  to.clear();
  const auto add = [&to](const FrameTree& tree, FrameTree::Node node) {
    const auto begin = static_cast<std::ptrdiff_t>(to.size());
    for (; node != FrameTree::kRoot; node = tree.parent(node)) {
      to.push_back(&tree.text(tree.name_of(node)));
    }
    std::reverse(to.begin() + begin, to.end());
  };
  add(prefixes_, line.prefix);
  add(tree_, line.stack);
}

void FrameLines::write(const Line& line, std::string& text) const {
  std::vector<const std::string*> all;
  frames(line, all);
  text.clear();
  for (const std::string* frame : all) {
    if (!text.empty()) text += ';';
    text += *frame;
  }
}

}  // namespace labelscope::cli
