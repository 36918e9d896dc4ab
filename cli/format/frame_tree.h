// Stacks as a tree of frames, root first, each with the number of samples that end there. Equal
// stacks meet in one node, whatever locations they came from.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace labelscope::cli {

class FrameTree {
 public:
  using Node = std::uint32_t;
  using Name = std::uint32_t;
  static constexpr Node kRoot = 0;

  Name name(const std::string& text);
  // The child of `parent` with that name, made if there is none.
  Node child(Node parent, Name name);
  void add(Node node, std::uint64_t count) { nodes_[node].count += count; }

  // Calls `visit(line, count)` for every node with samples, ordered by the text of the frames;
  // `line` is the frames joined with ';'.
  void for_each_stack(const std::function<void(std::string_view, std::uint64_t)>& visit) const;

 private:
  struct Entry {
    Node parent = kRoot;
    Name name = 0;
    std::uint64_t count = 0;
  };

  std::vector<Entry> nodes_{Entry{}};
  std::unordered_map<std::uint64_t, Node> children_;  // (parent, name) -> child
  std::unordered_map<std::string, Name> numbers_;
  std::vector<const std::string*> names_;  // keys of numbers_, which never move
};

}  // namespace labelscope::cli
