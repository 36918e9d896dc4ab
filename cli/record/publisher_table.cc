// Recognizes a publisher by its file and load bias; if the load bias has changed, by its file.
#include "cli/record/publisher_table.h"

#include <algorithm>
#include <optional>

namespace labelscope::cli {
namespace {

// A label has one byte for its publisher's index. No real program loads more publishers.
constexpr std::size_t kLastIndex = UINT8_MAX;

}  // namespace

std::vector<std::uint8_t> PublisherTable::adopt(const std::vector<Publisher>& publishers) {
  std::vector<std::optional<std::size_t>> chosen(publishers.size());
  std::vector<bool> taken(paths_.size());
  // First those with the same load bias, so that no copy gets the index of another.
  for (const bool same_place : {true, false}) {
    for (std::size_t i = 0; i < publishers.size(); ++i) {
      for (std::size_t known = 0; known < paths_.size() && !chosen[i]; ++known) {
        if (taken[known] || paths_[known] != publishers[i].path) continue;
        if (same_place && load_biases_[known] != publishers[i].load_bias) continue;
        chosen[i] = known;
        taken[known] = true;
      }
    }
  }
  std::vector<std::uint8_t> indices;
  for (std::size_t i = 0; i < publishers.size(); ++i) {
    std::size_t index = chosen[i].value_or(paths_.size());
    if (index == paths_.size() && index <= kLastIndex) {
      paths_.push_back(publishers[i].path);
      load_biases_.push_back(0);
    }
    index = std::min(index, kLastIndex);
    load_biases_[index] = publishers[i].load_bias;
    indices.push_back(static_cast<std::uint8_t>(index));
  }
  return indices;
}

}  // namespace labelscope::cli
