// Folded stacks, the input of flame graph tools: groups, process, frames, count.
#include <charconv>
#include <ostream>
#include <string>
#include <vector>

#include "cli/format/escape.h"
#include "cli/format/format.h"
#include "cli/format/frame_tree.h"
#include "cli/format/output.h"
#include "cli/format/row_labels.h"
#include "cli/format/rows.h"

namespace labelscope::cli {
namespace {

std::string hexadecimal(std::uint64_t value) {
  char digits[16];
  auto end = std::to_chars(digits, digits + sizeof(digits), value, 16);
  return "0x" + std::string(digits, end.ptr);
}

// "[libfoo.so+0x1234]": the link-time address, which is what addr2line and objdump take.
std::string unnamed_frame(const Profile& profile, const Location& location) {
  if (location.module == kNoIndex) return "[unknown+" + hexadecimal(location.address) + "]";
  const ProfileModule& module = profile.modules[location.module];
  std::string name = module.path.substr(module.path.rfind('/') + 1);
  if (name.size() > 1 && name.front() == '[' && name.back() == ']') {
    name = name.substr(1, name.size() - 2);
  }
  if (name.empty()) name = "unknown";
  // A load bias above the address is not this module's: the runtime address says more than a
  // wrapped one.
  const bool biased = module.load_bias <= location.address;
  return "[" + name + "+" + hexadecimal(location.address - (biased ? module.load_bias : 0)) + "]";
}

class FoldedRenderer {
 public:
  FoldedRenderer(const Profile& profile, const RenderOptions& options)
      : profile_(profile), options_(options), rows_(profile), frames_(profile.locations.size()) {}

  Status render(std::ostream& out) {
    // Without groups the labels make no difference to a line: leaving them out merges the rows
    // early.
    const RowParts parts{.label_set = !options_.group_by.empty(), .flags = 0};
    FrameTree::Node prefix = FrameTree::kRoot;
    const AggregatedRow* before = nullptr;
    const std::vector<AggregatedRow> rows = aggregate_rows(profile_, parts);
    for (const AggregatedRow& row : rows) {
      if (before == nullptr || before->label_set != row.label_set || before->thread != row.thread ||
          before->outcome != row.outcome) {
        prefix = prefix_of(row);
      }
      before = &row;
      tree_.add(stack_node(prefix, row.stack), row.count);
    }
    tree_.for_each_stack([&out](std::string_view line, std::uint64_t count) {
      out << line << ' ' << count << '\n';
    });
    return flush_output(out);
  }

 private:
  FrameTree::Node push(FrameTree::Node parent, std::string_view frame) {
    return tree_.child(parent, tree_.name(escape_folded(frame)));
  }

  FrameTree::Node prefix_of(const AggregatedRow& row) {
    FrameTree::Node node = FrameTree::kRoot;
    for (const std::string& key : options_.group_by) node = push(node, rows_.group_frame(row, key));
    if (is_unreadable(row.outcome)) {
      node = push(node, "[labels unreadable: " + std::string(outcome_name(row.outcome)) + "]");
    }
    return push(node, comm_of(row));
  }

  // The process, so that a pool's numbered threads share their frames; perf's convention of a first
  // frame that is not a function.
  std::string comm_of(const AggregatedRow& row) const {
    const Process* process = rows_.process(row);
    if (process != nullptr && !process->comm.empty()) return process->comm;
    const Thread* thread = rows_.thread(row);
    if (thread == nullptr) return "[unknown process]";
    return thread->name.empty() ? "pid " + std::to_string(raw(thread->pid)) : thread->name;
  }

  FrameTree::Node stack_node(FrameTree::Node prefix, Index stack) {
    if (stack == kNoIndex || profile_.stacks[stack].empty()) return push(prefix, "[no stack]");
    FrameTree::Node node = prefix;
    const Stack& leaf_first = profile_.stacks[stack];
    for (auto location = leaf_first.rbegin(); location != leaf_first.rend(); ++location) {
      for (FrameTree::Name name : frames_of(*location)) node = tree_.child(node, name);
    }
    return node;
  }

  // Outermost first: the function, then what was inlined into it.
  const std::vector<FrameTree::Name>& frames_of(Index index) {
    std::vector<FrameTree::Name>& frames = frames_[index];
    if (!frames.empty()) return frames;
    const Location& location = profile_.locations[index];
    const bool in_kernel = location.module != kNoIndex &&
                           profile_.modules[location.module].kind == ProfileModule::Kind::kKernel;
    const std::string suffix = in_kernel ? "_[k]" : "";
    for (auto line = location.lines.rbegin(); line != location.lines.rend(); ++line) {
      const std::string& name = line->function.empty() ? line->system_name : line->function;
      if (!name.empty()) frames.push_back(tree_.name(escape_folded(name) + suffix));
    }
    if (frames.empty()) {
      frames.push_back(tree_.name(escape_folded(unnamed_frame(profile_, location)) + suffix));
    }
    return frames;
  }

  const Profile& profile_;
  const RenderOptions& options_;
  RowLabels rows_;
  FrameTree tree_;
  std::vector<std::vector<FrameTree::Name>> frames_;  // by location, filled when first met
};

}  // namespace

Status render_folded(const Profile& profile, const RenderOptions& options, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  return FoldedRenderer(profile, options).render(out);
}

}  // namespace labelscope::cli
