// A process of which a test decides what label bytes mean, and what it has mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "cli/profile/profile_builder.h"

namespace labelscope::cli {

// In the encoding of these tests each byte is a value of the label `key`; 0xff sets a flag.
struct FakeProcess : ProcessContext {
  static constexpr std::byte kNothing{0xfe};  // a value of which its source makes no label

  Index module_at(Address address) override {
    ++look_ups;
    return address < 0x1000 ? kNoIndex : module;
  }
  Index kernel_module() override { return 99; }
  std::uint64_t address_epoch() const override { return addresses; }
  std::uint64_t publisher_epoch() const override { return publishers; }
  std::uint64_t plan_epoch() const override { return plans; }
  std::uint8_t publisher(std::uint8_t index) const override {
    return static_cast<std::uint8_t>(index + shift);
  }
  Observation decode(std::span<const std::byte> bytes) override {
    ++decodings;
    Observation observation;
    if (!own.empty()) observation.labels.push_back({"own", own, 0});
    observation.outcome = LS_LABELLED;
    if (bytes.size() == 1 && bytes[0] == kNothing) return {};
    for (std::byte byte : bytes) {
      if (byte == std::byte{0xff}) {
        observation.flags |= LS_DUPLICATE_KEY;
      } else {
        observation.labels.push_back({key, std::string(1, static_cast<char>(byte)), 0});
      }
    }
    return observation;
  }

  Index module = 7;
  std::string key = "k";
  std::string own;  // the value of the process's own label
  std::uint64_t addresses = 0;
  std::uint64_t publishers = 0;
  std::uint64_t plans = 0;
  std::uint8_t shift = 0;
  int look_ups = 0;
  int decodings = 0;
};

inline std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

}  // namespace labelscope::cli
