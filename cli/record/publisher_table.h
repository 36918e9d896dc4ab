// The publishers that a process has had, each under an index that stays true for the whole
// recording: plans come and go, the labels that were read with them stay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/plan.h"

namespace labelscope::cli {

class PublisherTable {
 public:
  // The index of each publisher of the plan, in the plan's order. Copies of one file (dlmopen) have
  // an index each; a library that was unloaded and comes back has its old one.
  std::vector<std::uint8_t> adopt(const std::vector<Publisher>& publishers);
  // By index; the path of a file with several copies is there several times.
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::vector<std::string> paths_;
  std::vector<Address> load_biases_;  // where each was seen last
};

}  // namespace labelscope::cli
