// The tables that all threads of a Firefox profile share: strings, functions, frames, stacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/format/common/frame_tree.h"
#include "cli/format/common/json_values.h"
#include "cli/format/common/shown_frames.h"
#include "cli/profile/index_table.h"

namespace labelscope::cli {

// Milliseconds, exactly: "10.213874". All times of the viewer are in milliseconds.
std::string ms_text(std::uint64_t ns);

// Appends ,"name":[a,b,c]
template <class Element>
void append_array(std::string& to, std::string_view name, std::size_t count, Element element) {
  to.append(",\"").append(name).append("\":[");
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) to += ',';
    to += element(i);
  }
  to += ']';
}

class FirefoxTables {
 public:
  // Numbers in categories(), which colours frames.
  static constexpr int kUser = 0;
  static constexpr int kKernel = 1;
  static constexpr int kOther = 2;
  static Json categories();

  // Both must outlive this object.
  FirefoxTables(const Profile& profile, ShownFrames& shown) : profile_(profile), shown_(shown) {}

  // Returns the number in the stack table of these frames, followed by those of the profile's
  // stack.
  std::uint32_t stack(const std::vector<ShownFrames::Number>& above, Index stack);
  // Returns the number in the string table of a text that is escaped already.
  std::uint32_t string(const std::string& text);
  // Returns the files of all frames so far.
  Json libs();
  // Writes all tables. Call it when nothing more will be added.
  void write(std::ostream& out);

 private:
  std::uint32_t lib(Index module);

  const Profile& profile_;
  ShownFrames& shown_;
  FrameTree tree_;  // names are numbers of frames
  std::map<std::pair<FrameTree::Node, Index>, FrameTree::Node> ends_;
  std::unordered_map<std::string, std::uint32_t, SecretHash> strings_;
  std::vector<const std::string*> in_order_;                                // keys of strings_
  std::unordered_map<std::string, std::uint32_t, SecretHash> lib_numbers_;  // by path
  std::vector<Index> libs_;                                                 // modules
};

}  // namespace labelscope::cli
