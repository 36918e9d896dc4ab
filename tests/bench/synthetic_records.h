// Made-up records of the BPF sampler (bpf/wire/wire.h), as a busy service would produce them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bpf/wire/wire.h"

namespace labelscope::bench {

inline constexpr std::size_t kStacks = 200;
inline constexpr std::size_t kFrames = 25;
inline constexpr std::size_t kLabelSets = 100;
inline constexpr std::size_t kLabels = 5;
inline constexpr std::size_t kThreads = 64;
inline constexpr std::size_t kSamplesPerRequest = 10;
inline constexpr std::size_t kCombinations = kStacks * kLabelSets * kThreads;
inline constexpr std::uint64_t kPeriodNs = 1000000;

inline constexpr std::uint32_t kPid = 4242;
// All addresses are in this range.
inline constexpr std::uint64_t kCodeStart = 0x400000;
inline constexpr std::uint64_t kCodeEnd = 0x500000;

enum class Mix {
  kService,   // few stacks and label sets make most of the samples, as in real profiles
  kEven,      // all are equally likely, independently: nearly every sample is a row of its own
  kRequests,  // as kService, but one label is the number of a request, and never repeated
  kDistinct,  // every sample is a row of its own, up to kCombinations
};

class SyntheticRecords {
 public:
  SyntheticRecords(Mix mix, std::size_t samples);

  // Returns sample i, 8-aligned. It is valid until the next call.
  std::span<const std::byte> record(std::size_t i);

 private:
  struct Choice {
    std::uint16_t stack;
    std::uint8_t label_set;
    std::uint8_t thread;
  };
  struct Template {
    std::vector<std::uint64_t> words;
    std::size_t request_offset;  // of the digits of the request's number
  };
  static std::vector<Choice> choose(Mix mix, std::size_t samples);
  static std::vector<Choice> choose_all(std::size_t samples);

  Mix mix_;
  std::vector<Choice> choices_;
  std::vector<Template> templates_;  // by label set and stack
};

}  // namespace labelscope::bench
