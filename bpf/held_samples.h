// Samples whose labels are being read again: kept until the answer comes, or the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "bpf/records.h"

namespace labelscope {

class HeldSamples {
 public:
  // About 2 KiB each with whole stacks. More are only waiting if pages come from a disk that is far
  // behind.
  static constexpr std::size_t kMost = 4096;

  // Copies the record of a sample. False: no room, nothing is kept.
  bool hold(std::uint64_t retry_id, std::span<const std::byte> record);
  // Hands out the sample that this answers, with the answer's labels. False: there is none.
  bool settle(const AnswerRecord& answer, const std::function<void(const SampleRecord&)>& hand_out);
  // Hands out all that are left, as LS_UNREADABLE_VANISHED.
  void give_up(const std::function<void(const SampleRecord&)>& hand_out);
  std::size_t size() const { return held_.size(); }

 private:
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>>
      held_;  // words: records are 8-aligned
};

}  // namespace labelscope
