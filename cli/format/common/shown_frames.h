// The frames that formats with stacks show, root first: groups, notes about the row, then the
// functions of its stack.
//
//   tenant=42   [labels unreadable: torn]   [stack ends: no-table]   main   serve   read
//   `------------ above() --------------'   `------------------- stack() --------------'
//
// A frame is a number: equal frames, wherever they come from, are one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/format/common/row_labels.h"
#include "cli/format/format.h"
#include "cli/profile/index_table.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

struct ShownFrame {
  enum class Kind {
    kCode,
    kKernel,
    kAddress,  // code without a name
    kNote,     // a note of ours, not code
  };
  std::string name;  // bytes from a target, also in a note
  std::string file;  // bytes from a target; empty if unknown
  Index module = kNoIndex;
  Kind kind = Kind::kCode;
};

class ShownFrames {
 public:
  using Number = std::uint32_t;

  // Refers to the profile, which must pass check_tables() and outlive it.
  explicit ShownFrames(const Profile& profile);

  // Returns the frames above the stack. Empty without groups if labels could be read.
  std::vector<Number> above(const SampleRow& row, const RenderOptions& options);
  // It is never empty. `stack` may be kNoIndex.
  const std::vector<Number>& stack(Index stack);
  // Returns the function in which the thread itself was, innermost of those inlined.
  Number leaf(Index stack) { return this->stack(stack).back(); }
  Number note(std::string_view text) { return number({std::string(text), {}, kNoIndex, kNote}); }

  // Returns all frames, by number.
  const std::vector<ShownFrame>& frames() const { return frames_; }
  const RowLabels& rows() const { return rows_; }

 private:
  static constexpr auto kNote = ShownFrame::Kind::kNote;
  Number number(ShownFrame frame);
  void append(const Location& location, std::vector<Number>& to);

  const Profile& profile_;
  RowLabels rows_;
  std::vector<ShownFrame> frames_;
  std::unordered_map<std::string, Number, SecretHash> numbers_;
  std::vector<std::vector<Number>> locations_;  // made on demand, as stacks are
  std::vector<std::vector<Number>> stacks_;     // the last one is for kNoIndex
};

// Returns the title of a row's track: "shop, thread worker (101)". Formats with a track for each
// thread use it.
std::string thread_title(const RowLabels& rows, const SampleRow& row);
// Returns the name of a row's process: its comm, else its thread's name, else its ID.
std::string process_title(const RowLabels& rows, const SampleRow& row);

}  // namespace labelscope::cli
