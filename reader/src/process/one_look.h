// OneLook is another process whose mappings are read once. A process may have 60,000 of them, and
// several parts of a plan ask for them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "labelscope/target.h"

namespace labelscope {

class OneLook final : public Target {
 public:
  // `target` must live as long as this object.
  explicit OneLook(const Target& target) : target_(target) {}

  Result<std::vector<Mapping>> mappings() const override {
    if (!mappings_) mappings_ = target_.mappings();
    return *mappings_;
  }
  Result<UniqueFd> open_file(const Mapping& mapping) const override {
    return target_.open_file(mapping);
  }
  Result<FileTimes> file_times(const Mapping& mapping) const override {
    return target_.file_times(mapping);
  }
  const MemorySource& memory() const override { return target_.memory(); }
  std::optional<Address> program_headers_address() const override {
    return target_.program_headers_address();
  }
  std::optional<Address> title_address() const override { return target_.title_address(); }
  bool is_alive() const override { return target_.is_alive(); }
  std::unique_ptr<Target> forked_from() const override { return target_.forked_from(); }

 private:
  const Target& target_;
  mutable std::optional<Result<std::vector<Mapping>>> mappings_;
};

}  // namespace labelscope
