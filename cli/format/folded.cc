// Folded stacks, the input of flame graph tools: groups, process, frames, nanoseconds.
//
//   tenant=42;service;main;serve;read 1200000
//   <--- prefix ----><---- stack ---> <-ns-->
//
// Prefixes and stacks have numbers of their own. There are few prefixes, and the text of a stack is
// made once, however many prefixes it appears under.
#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "cli/format/escape.h"
#include "cli/format/format.h"
#include "cli/format/frame_tree.h"
#include "cli/format/ledger_text.h"
#include "cli/format/row_labels.h"
#include "cli/format/rows.h"
#include "cli/format/text.h"

namespace labelscope::cli {
namespace {

// From the text of a prefix to its number: at first in order of appearance, later in order of text.
using Prefixes = std::map<std::string, std::size_t>;

struct Line {
  Prefixes::const_pointer prefix = nullptr;
  FrameTree::Node stack = FrameTree::kRoot;
  std::uint64_t weight_ns = 0;
};

void append_frame(std::string& line, std::string_view frame) {
  if (!line.empty()) line += ';';
  line += escape_folded(frame);
}

class FoldedRenderer {
 public:
  FoldedRenderer(const Profile& profile, const RenderOptions& options)
      : profile_(profile),
        options_(options),
        rows_(profile),
        no_stack_(tree_.child(FrameTree::kRoot, tree_.name("[no stack]"))) {}

  Status render(std::ostream& out) {
    add_stacks();
    add_lines();
    merge_lines();
    std::string text;
    for (const Line& line : lines_) {
      tree_.write_line(line.stack, text);
      out << line.prefix->first << ';' << text << ' ' << line.weight_ns << '\n';
      if (!out) break;
    }
    return flush_output(out);
  }

 private:
  void add_stacks() {
    std::vector<std::vector<FrameTree::Name>> frames;
    frames.reserve(profile_.locations.size());
    for (const Location& location : profile_.locations) frames.push_back(frames_of(location));
    stacks_.reserve(profile_.stacks.size());
    for (const auto& [leaf_first, end] : profile_.stacks) {
      FrameTree::Node node = leaf_first.empty() ? no_stack_ : FrameTree::kRoot;
      // Its outermost frame is no start: it would stand among those that are.
      if (!leaf_first.empty() && end > LS_STACK_ENTRY) {
        const std::string name = "[stack ends: " + std::string(stack_end_name(end)) + "]";
        node = tree_.child(node, tree_.name(name));
      }
      for (auto location = leaf_first.rbegin(); location != leaf_first.rend(); ++location) {
        for (FrameTree::Name name : frames[*location]) node = tree_.child(node, name);
      }
      stacks_.push_back(node);
    }
  }

  // Outermost first: the function, then what was inlined into it.
  std::vector<FrameTree::Name> frames_of(const Location& location) {
    const bool in_kernel = location.module != kNoIndex &&
                           profile_.modules[location.module].kind == ProfileModule::Kind::kKernel;
    const std::string suffix = in_kernel ? "_[k]" : "";
    std::vector<FrameTree::Name> frames;
    for (auto line = location.lines.rbegin(); line != location.lines.rend(); ++line) {
      const std::string& name = line->function.empty() ? line->system_name : line->function;
      if (!name.empty()) frames.push_back(tree_.name(escape_folded(name) + suffix));
    }
    if (frames.empty()) {
      frames.push_back(tree_.name(escape_folded(unnamed_frame(profile_, location)) + suffix));
    }
    return frames;
  }

  void add_lines() {
    // Without groups a line does not show labels. Then rows that differ only in them are one row.
    const RowParts parts{.label_set = !options_.group_by.empty(), .flags = 0};
    const std::vector<SampleRow> rows = aggregate_rows(profile_, parts);
    lines_.reserve(rows.size());
    const SampleRow* before = nullptr;
    for (const SampleRow& row : rows) {
      const bool same_prefix = before != nullptr && before->label_set == row.label_set &&
                               before->thread == row.thread && before->outcome == row.outcome;
      Line line;
      line.prefix = same_prefix ? lines_.back().prefix
                                : &*prefixes_.try_emplace(prefix_of(row), prefixes_.size()).first;
      line.stack = row.stack == kNoIndex ? no_stack_ : stacks_[row.stack];
      line.weight_ns = row.weight_ns;
      lines_.push_back(line);
      before = &row;
    }
  }

  // Puts the lines in the order of their texts and adds up equal ones.
  void merge_lines() {
    std::size_t number = 0;
    for (auto& prefix : prefixes_) prefix.second = number++;
    const std::vector<FrameTree::Node> places = tree_.places();
    std::sort(lines_.begin(), lines_.end(), [&](const Line& a, const Line& b) {
      if (a.prefix != b.prefix) return a.prefix->second < b.prefix->second;
      return places[a.stack] < places[b.stack];
    });
    std::size_t kept = 0;
    for (const Line& line : lines_) {
      if (kept > 0 && lines_[kept - 1].prefix == line.prefix &&
          lines_[kept - 1].stack == line.stack) {
        lines_[kept - 1].weight_ns += line.weight_ns;
      } else {
        lines_[kept++] = line;
      }
    }
    lines_.resize(kept);
  }

  std::string prefix_of(const SampleRow& row) const {
    std::string prefix;
    for (const std::string& key : options_.group_by) {
      append_frame(prefix, rows_.group_frame(row, key));
    }
    if (is_unreadable(row.outcome)) {
      append_frame(prefix, "[labels unreadable: " + std::string(outcome_name(row.outcome)) + "]");
    }
    append_frame(prefix, comm_of(row));
    return prefix;
  }

  // The name of the process, not of the thread: so the numbered threads of a pool share their
  // frames. As in perf's output, it is the first frame although it is no function.
  std::string comm_of(const SampleRow& row) const {
    const Process* process = rows_.process(row);
    if (process != nullptr && !process->comm.empty()) return process->comm;
    const Thread* thread = rows_.thread(row);
    if (thread == nullptr) return "[unknown process]";
    return thread->name.empty() ? "pid " + std::to_string(raw(thread->pid)) : thread->name;
  }

  const Profile& profile_;
  const RenderOptions& options_;
  RowLabels rows_;
  FrameTree tree_;
  FrameTree::Node no_stack_;
  std::vector<FrameTree::Node> stacks_;  // by stack of the profile
  Prefixes prefixes_;
  std::vector<Line> lines_;
};

}  // namespace

Status render_folded(const Profile& profile, const RenderOptions& options, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  return FoldedRenderer(profile, options).render(out);
}

}  // namespace labelscope::cli
