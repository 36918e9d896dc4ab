// The function that a sample counts for in outputs that show one function only.
#pragma once

#include <string>
#include <vector>

#include "cli/format/common/frame_tree.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

// For each stack, the function in which the thread itself was, innermost of those inlined.
class LeafFunctions {
 public:
  explicit LeafFunctions(const Profile& profile) {
    for (const Stack& stack : profile.stacks) {
      of_stack_.push_back(stack.frames.empty() ? no_stack_
                                               : names_.name(shown(profile, stack.frames.front())));
    }
  }
  FrameTree::Name of(const SampleRow& row) const {
    return row.stack == kNoIndex ? no_stack_ : of_stack_[row.stack];
  }
  const std::string& text(FrameTree::Name name) const { return names_.text(name); }

 private:
  static std::string shown(const Profile& profile, Index index) {
    return function_names(profile, profile.locations[index]).front();
  }

  FrameTree names_;
  FrameTree::Name no_stack_ = names_.name(std::string(kNoStack));
  std::vector<FrameTree::Name> of_stack_;
};

}  // namespace labelscope::cli
