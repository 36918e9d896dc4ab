// Builds the tree, orders its nodes, and names frames without a symbol.
#include "cli/format/common/frame_tree.h"

#include <algorithm>
#include <numeric>

#include "cli/text/text.h"

namespace labelscope::cli {

std::string unnamed_frame(const Profile& profile, const Location& location) {
  if (location.module == kNoIndex) return "[unknown+" + hex(location.address) + "]";
  const ProfileModule& module = profile.modules[location.module];
  std::string name = std::string(base_name(module.path));
  if (name.size() > 1 && name.front() == '[' && name.back() == ']') {
    name = name.substr(1, name.size() - 2);
  }
  if (name.empty()) name = "unknown";
  // If the load bias is above the address, it is wrong. Then show the runtime address: the
  // difference would wrap around.
  const bool biased = module.load_bias <= location.address;
  return "[" + name + "+" + hex(location.address - (biased ? module.load_bias : 0)) + "]";
}

std::vector<std::string> function_names(const Profile& profile, const Location& location) {
  std::vector<std::string> names;
  for (const SourceLine& line : location.lines) {
    const std::string& name = line.function.empty() ? line.system_name : line.function;
    if (!name.empty()) names.push_back(name);
  }
  if (names.empty()) names.push_back(unnamed_frame(profile, location));
  return names;
}

FrameTree::Name FrameTree::name(const std::string& text) {
  auto [entry, added] = numbers_.try_emplace(text, static_cast<Name>(names_.size()));
  if (added) names_.push_back(&entry->first);
  return entry->second;
}

FrameTree::Node FrameTree::child(Node parent, Name name) {
  const std::uint64_t key = std::uint64_t{parent} << 32 | name;
  auto [entry, added] = children_.try_emplace(key, static_cast<Node>(nodes_.size()));
  if (added) nodes_.push_back({parent, name});
  return entry->second;
}

std::vector<FrameTree::Node> FrameTree::places() const {
  // Compares all names once, so that sorting the nodes compares numbers only.
  std::vector<Name> by_text(names_.size());
  std::iota(by_text.begin(), by_text.end(), 0);
  std::sort(by_text.begin(), by_text.end(),
            [this](Name a, Name b) { return *names_[a] < *names_[b]; });
  std::vector<Name> rank(names_.size());
  for (std::size_t i = 0; i < by_text.size(); ++i) rank[by_text[i]] = static_cast<Name>(i);

  // Siblings are neighbours: those of the parent p are [first[p], first[p + 1]).
  std::vector<Node> order;
  order.reserve(nodes_.size());
  for (Node node = kRoot + 1; node < nodes_.size(); ++node) order.push_back(node);
  std::sort(order.begin(), order.end(), [&](Node a, Node b) {
    if (nodes_[a].parent != nodes_[b].parent) return nodes_[a].parent < nodes_[b].parent;
    return rank[nodes_[a].name] < rank[nodes_[b].name];
  });
  std::vector<std::size_t> first(nodes_.size() + 1, 0);
  for (Node node : order) ++first[nodes_[node].parent + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());

  // This does not recurse, because the target chooses the depth. Siblings are pushed in reverse, so
  // that the first one and all below it come before the second.
  std::vector<Node> places(nodes_.size());
  std::vector<Node> waiting{kRoot};
  for (Node place = 0; !waiting.empty(); ++place) {
    const Node node = waiting.back();
    waiting.pop_back();
    places[node] = place;
    for (std::size_t i = first[node + 1]; i > first[node]; --i) waiting.push_back(order[i - 1]);
  }
  return places;
}

}  // namespace labelscope::cli
