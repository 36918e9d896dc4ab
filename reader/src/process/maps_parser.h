// MapsParser parses the text of /proc/PID/maps piece by piece: the text of 60,000 mappings takes as
// much memory as they do.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "labelscope/mapping.h"
#include "labelscope/result.h"

namespace labelscope {

class MapsParser {
 public:
  // Whether a mapping is kept, asked in the order of their addresses.
  using IsKept = std::function<bool(const Mapping&)>;

  explicit MapsParser(IsKept is_kept = {}) : is_kept_(std::move(is_kept)) {}
  // Takes the next piece of the text, which may end within a line. Fails as parse_maps() does.
  Status add(std::string_view piece);
  Result<std::vector<Mapping>> finish();

 private:
  Status take_line(std::string_view line);

  IsKept is_kept_;
  std::vector<Mapping> mappings_;
  std::string begun_;  // the line that the last piece has left unfinished
  std::size_t lines_ = 0;
};

// Reads a file of this kind.
Result<std::vector<Mapping>> read_maps(const std::string& path, MapsParser::IsKept is_kept = {});

}  // namespace labelscope
