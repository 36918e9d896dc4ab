// This limits how much memory a file may ask for while it is read.
//
// A few bytes of a file can stand for a sample with hundreds of labels, or for a stack of a hundred
// frames, and in a compressed file a thousand such samples are a few bytes again: 260 KB can ask
// for gigabytes. A recorded profile takes about 20 times its bytes; of a compressed one about 30
// times, or with stacks of 512 frames, which compress well, nearly 400. So readers count what they
// keep, and stop before it is in memory if it is out of proportion to the file:
//
//   kept so far  <=  256 MiB + 64 * what was read, but at most 512 * what that is on the disk
//
// Every small file may have the first 256 MiB; with a large one the allowance grows as it is read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/format/common/gzip_source.h"
#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

class ReadBudget {
 public:
  // The memory that a sample takes, with the reserve of tables.
  static constexpr std::size_t kOfSample = 2 * sizeof(SampleRow);

  // `packed` unpacks the file; null: the file is not compressed.
  explicit ReadBudget(const GzipSource* packed = nullptr) : packed_(packed) {}

  // So many unpacked bytes of the file were read.
  void read(std::size_t bytes) { read_ += bytes; }
  // So many bytes are about to be kept. Returns false if they are too many; then so are all later
  // ones.
  bool keep(std::size_t bytes) {
    kept_ += bytes;
    return !is_over();
  }
  // A stack is about to be kept. A frame counts once for each line of its location: all formats
  // show these, and most make a tree node of each.
  void keep_stack(const std::vector<Index>& frames, const std::vector<Location>& locations) {
    std::size_t lines = 1;
    for (const Index frame : frames) {
      lines += std::max<std::size_t>(1, locations[frame].lines.size());
    }
    keep(sizeof(Stack) + kOfFrame * lines);
  }
  bool is_over() const { return kept_ > allowed(); }
  Status status() const {
    if (!is_over()) return {};
    return Error{ErrorCode::kLimit,
                 "it is small and stands for much: " + std::to_string(on_disk()) +
                     " bytes of it would take more than " + std::to_string(allowed() >> 20) +
                     " MiB of memory, which no recorded profile does"};
  }

 private:
  static constexpr std::size_t kOfFrame = 32;
  static constexpr std::uint64_t kFree = std::uint64_t{256} << 20;
  static constexpr std::uint64_t kTimes = 64;
  static constexpr std::uint64_t kTimesPacked = 512;
  static constexpr std::uint64_t kMost = std::uint64_t{8} << 30;

  std::uint64_t on_disk() const { return packed_ == nullptr ? read_ : packed_->taken(); }
  std::uint64_t allowed() const {
    return std::min(kMost, kFree + std::min(kTimes * read_, kTimesPacked * on_disk()));
  }

  const GzipSource* packed_;
  std::uint64_t read_ = 0;
  std::uint64_t kept_ = 0;
};

}  // namespace labelscope::cli
