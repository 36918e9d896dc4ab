// Numbers frames, and writes notes.
#include "cli/format/common/shown_frames.h"

#include "cli/format/common/frame_tree.h"
#include "cli/format/common/ledger_text.h"

namespace labelscope::cli {

ShownFrames::ShownFrames(const Profile& profile)
    : profile_(profile),
      rows_(profile),
      locations_(profile.locations.size()),
      stacks_(profile.stacks.size() + 1) {}

std::vector<ShownFrames::Number> ShownFrames::above(const SampleRow& row,
                                                    const RenderOptions& options) {
  std::vector<Number> frames;
  for (const std::string& key : options.group_by) {
    frames.push_back(note(rows_.group_frame(row, key)));
  }
  if (is_unreadable(row.outcome)) {
    frames.push_back(note("[labels unreadable: " + std::string(outcome_name(row.outcome)) + "]"));
  }
  return frames;
}

const std::vector<ShownFrames::Number>& ShownFrames::stack(Index stack) {
  std::vector<Number>& frames = stacks_[stack == kNoIndex ? stacks_.size() - 1 : stack];
  if (!frames.empty()) return frames;
  if (stack == kNoIndex || profile_.stacks[stack].frames.empty()) {
    // Without this frame, the sample would count in the total and show up nowhere.
    frames.push_back(note(kNoStack));
    return frames;
  }
  const auto& [leaf_first, end] = profile_.stacks[stack];
  // The stack does not reach its start. Without the note, its outermost frame would stand among
  // starts.
  if (end > LS_STACK_ENTRY) {
    frames.push_back(note("[stack ends: " + std::string(stack_end_name(end)) + "]"));
  }
  for (auto at = leaf_first.rbegin(); at != leaf_first.rend(); ++at) {
    std::vector<Number>& of_location = locations_[*at];
    if (of_location.empty()) append(profile_.locations[*at], of_location);
    frames.insert(frames.end(), of_location.begin(), of_location.end());
  }
  return frames;
}

// The function comes first, then what was inlined into it.
void ShownFrames::append(const Location& location, std::vector<Number>& to) {
  using Kind = ShownFrame::Kind;
  const bool in_kernel = location.module != kNoIndex &&
                         profile_.modules[location.module].kind == ProfileModule::Kind::kKernel;
  for (auto line = location.lines.rbegin(); line != location.lines.rend(); ++line) {
    const std::string& name = line->function.empty() ? line->system_name : line->function;
    if (name.empty()) continue;
    to.push_back(
        number({name, line->file, location.module, in_kernel ? Kind::kKernel : Kind::kCode}));
  }
  if (!to.empty()) return;
  to.push_back(number({unnamed_frame(profile_, location),
                       {},
                       location.module,
                       in_kernel ? Kind::kKernel : Kind::kAddress}));
}

ShownFrames::Number ShownFrames::number(ShownFrame frame) {
  // A file that several processes have mapped is one module here.
  std::string parts = frame.name + '\0' + frame.file + '\0';
  if (frame.module != kNoIndex) parts += profile_.modules[frame.module].path;
  parts += static_cast<char>('0' + static_cast<int>(frame.kind));
  const auto next = static_cast<Number>(frames_.size());
  auto [known, added] = numbers_.try_emplace(std::move(parts), next);
  if (added) frames_.push_back(std::move(frame));
  return known->second;
}

std::string process_title(const RowLabels& rows, const SampleRow& row) {
  const Process* process = rows.process(row);
  if (process != nullptr && !process->comm.empty()) return process->comm;
  const Thread* thread = rows.thread(row);
  if (thread == nullptr) return "[unknown process]";
  return thread->name.empty() ? "pid " + std::to_string(raw(rows.pid(row))) : thread->name;
}

std::string thread_title(const RowLabels& rows, const SampleRow& row) {
  std::string title = process_title(rows, row);
  if (const Thread* thread = rows.thread(row)) {
    title += ", thread " + thread->name + (thread->name.empty() ? "" : " ") + '(' +
             std::to_string(raw(thread->tid)) + ')';
  }
  return title;
}

}  // namespace labelscope::cli
