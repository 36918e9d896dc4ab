// The tree, and its walk in the order of the names.
#include "cli/format/frame_tree.h"

#include <algorithm>
#include <numeric>

namespace labelscope::cli {

FrameTree::Name FrameTree::name(const std::string& text) {
  auto [entry, added] = numbers_.try_emplace(text, static_cast<Name>(names_.size()));
  if (added) names_.push_back(&entry->first);
  return entry->second;
}

FrameTree::Node FrameTree::child(Node parent, Name name) {
  const std::uint64_t key = std::uint64_t{parent} << 32 | name;
  auto [entry, added] = children_.try_emplace(key, static_cast<Node>(nodes_.size()));
  if (added) nodes_.push_back({parent, name, 0});
  return entry->second;
}

void FrameTree::for_each_stack(
    const std::function<void(std::string_view, std::uint64_t)>& visit) const {
  // Names compared once, so that sorting the nodes compares numbers only.
  std::vector<Name> by_text(names_.size());
  std::iota(by_text.begin(), by_text.end(), 0);
  std::sort(by_text.begin(), by_text.end(),
            [this](Name a, Name b) { return *names_[a] < *names_[b]; });
  std::vector<Name> rank(names_.size());
  for (std::size_t i = 0; i < by_text.size(); ++i) rank[by_text[i]] = static_cast<Name>(i);

  // Siblings side by side: those of the parent p are [first[p], first[p + 1]).
  std::vector<Node> order(nodes_.size() - 1);
  std::iota(order.begin(), order.end(), 1);
  std::sort(order.begin(), order.end(), [&](Node a, Node b) {
    if (nodes_[a].parent != nodes_[b].parent) return nodes_[a].parent < nodes_[b].parent;
    return rank[nodes_[a].name] < rank[nodes_[b].name];
  });
  std::vector<std::size_t> first(nodes_.size() + 1, 0);
  for (Node node : order) ++first[nodes_[node].parent + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());

  // Not by recursion: the depth is the target's choice.
  struct Step {
    std::size_t next;  // in `order`
    std::size_t end;
    std::size_t line_size;
  };
  std::string line;
  std::vector<Step> steps{{first[kRoot], first[kRoot + 1], 0}};
  while (!steps.empty()) {
    Step& step = steps.back();
    line.resize(step.line_size);
    if (step.next == step.end) {
      steps.pop_back();
      continue;
    }
    const Node node = order[step.next++];
    if (!line.empty()) line += ';';
    line += *names_[nodes_[node].name];
    if (nodes_[node].count > 0) visit(line, nodes_[node].count);
    steps.push_back({first[node], first[node + 1], line.size()});
  }
}

}  // namespace labelscope::cli
