// Gives each publisher of a process an index for the whole recording. Labels refer to a publisher
// by its index in a plan. But each plan counts anew, and the labels of older plans stay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/plan.h"

namespace labelscope::cli {

class PublisherTable {
 public:
  // Returns the index of each publisher of the plan, in the plan's order. Copies of one file
  // (dlmopen) have an index each. A library that is loaded again has its old index.
  std::vector<std::uint8_t> adopt(const std::vector<Publisher>& publishers);
  // Paths by index. A file with several copies is there several times.
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::vector<std::string> paths_;
  std::vector<Address> load_biases_;  // by index; the last one
};

}  // namespace labelscope::cli
