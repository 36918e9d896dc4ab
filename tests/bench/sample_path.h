// The way of a sample through user space, from the bytes in the ring buffer to a written pprof
// file: what the sampler and the recorder do with it, without their processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/profile/profile_builder.h"
#include "labelscope/result.h"
#include "synthetic_records.h"

namespace labelscope::bench {

// One process with one module, which never changes.
class FixedProcess final : public cli::ProcessContext {
 public:
  cli::Index module_at(Address address) override;
  cli::Index kernel_module() override { return cli::kNoIndex; }
  std::uint64_t address_epoch() const override { return 0; }
  std::uint64_t publisher_epoch() const override { return 0; }
  std::uint8_t publisher(std::uint8_t index) const override { return index; }
};

class SamplePath {
 public:
  // Returns false if the record is no sample.
  bool add(std::span<const std::byte> record);
  // Returns what add() has made of the samples. It can be called once.
  cli::Profile take();

 private:
  FixedProcess process_;
  cli::ProfileBuilder builder_{0, kPeriodNs};
  std::vector<std::byte> label_bytes_;
};

// Fails with kMalformed if not all of `samples` are in the profile.
Status write_profile(const cli::Profile& profile, std::uint64_t samples, const std::string& path);

}  // namespace labelscope::bench
