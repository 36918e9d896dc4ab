// All samples as lines of text frames, in order, each line once. Folded stacks are these lines, and
// a flame graph is drawn from them.
//
//   tenant=42;service;main;serve;read 1200000
//   <--- prefix ----><---- stack ---> <-ns-->
//
// Prefixes and stacks are numbered separately. There are few prefixes, and the text of a stack is
// made once, however many prefixes it appears under.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/format/common/frame_tree.h"
#include "cli/format/common/shown_frames.h"

namespace labelscope::cli {

class FrameLines {
 public:
  struct Line {
    FrameTree::Node prefix = FrameTree::kRoot;
    FrameTree::Node stack = FrameTree::kRoot;
    std::uint64_t weight_ns = 0;
    std::uint64_t count = 0;
  };

  // Frames are escaped for folded stacks; those of the kernel end in "_[k]".
  FrameLines(const Profile& profile, const RenderOptions& options);

  // Returns the lines, ordered by prefix, then stack: lines that begin with the same frames are
  // neighbours.
  const std::vector<Line>& lines() const { return lines_; }
  // Replaces `text` by the frames of a line, joined with ';'.
  void write(const Line& line, std::string& text) const;
  // Returns the same as a list, root first. The texts live as long as this object.
  void frames(const Line& line, std::vector<const std::string*>& to) const;

 private:
  void add_stacks(const Profile& profile);
  void add_lines(const Profile& profile, const RenderOptions& options);
  void merge();
  FrameTree::Node prefix_of(const SampleRow& row, const RenderOptions& options);

  ShownFrames shown_;
  FrameTree prefixes_;
  FrameTree tree_;
  // by stack of the profile; the last one is for rows without a stack
  std::vector<FrameTree::Node> stacks_;
  std::vector<Line> lines_;
};

}  // namespace labelscope::cli
