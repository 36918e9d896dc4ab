// A FrameTree merges stacks into a tree of frames, root first. Equal frames share a node, even if
// they come from different locations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/profile/index_table.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

// Returns the text for a frame without a name: "[libfoo.so+0x1234]", with the link-time address,
// which addr2line and objdump take.
std::string unnamed_frame(const Profile& profile, const Location& location);

// This is the only frame of samples without a stack.
inline constexpr std::string_view kNoStack = "[no stack]";

// Returns the functions of a location, innermost first: several if the compiler has inlined some,
// and at least one.
std::vector<std::string> function_names(const Profile& profile, const Location& location);

class FrameTree {
 public:
  using Node = std::uint32_t;
  using Name = std::uint32_t;
  static constexpr Node kRoot = 0;

  Name name(const std::string& text);
  const std::string& text(Name name) const { return *names_[name]; }
  // Returns the child of `parent` with that name, which it makes if there is none.
  Node child(Node parent, Name name);

  // All node numbers are below this. A node has a higher number than its parent.
  std::size_t size() const { return nodes_.size(); }
  Node parent(Node node) const { return nodes_[node].parent; }
  Name name_of(Node node) const { return nodes_[node].name; }

  // Returns the place of each node in preorder, with siblings sorted by name.
  std::vector<Node> places() const;

 private:
  struct Entry {
    Node parent = kRoot;
    Name name = 0;
  };

  std::vector<Entry> nodes_{Entry{}};
  std::unordered_map<std::uint64_t, Node, SecretHash> children_;  // (parent, name) -> child
  std::unordered_map<std::string, Name, SecretHash> numbers_;
  std::vector<const std::string*> names_;  // keys of numbers_, which never move
};

}  // namespace labelscope::cli
