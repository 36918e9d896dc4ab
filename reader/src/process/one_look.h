// OneLook is a process whose mappings are read once, and no more of them than planning needs:
// several parts of a plan ask for them, and a process may have 60,000.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "labelscope/target.h"
#include "process/copied_text.h"
#include "process/named_mappings.h"

namespace labelscope {

class OneLook final : public Target {
 public:
  // `process` must live as long as this object.
  explicit OneLook(const LiveProcess& process) : process_(process) {}

  // Reads them now, from the kernel's list alone. Returns how many bytes they take, or 0 if there
  // are none: look() then tries again.
  std::size_t read_ahead() {
    auto listed = listed_mappings(process_);
    if (!listed || listed->empty()) return 0;
    std::size_t bytes = listed->size() * sizeof(Mapping);
    for (const Mapping& mapping : *listed) bytes += mapping.path.size();
    listed_ = *std::move(listed);
    return bytes;
  }

  Result<std::vector<Mapping>> mappings() const override { return look(); }
  // Returns the same without a copy.
  const Result<std::vector<Mapping>>& look() const {
    if (!mappings_ && listed_) {
      name_copied_text(process_, *listed_);
      mappings_ = *std::exchange(listed_, std::nullopt);
    }
    if (!mappings_) mappings_ = named_mappings(process_);
    return *mappings_;
  }
  Result<UniqueFd> open_file(const Mapping& mapping) const override {
    return process_.open_file(mapping);
  }
  Result<FileTimes> file_times(const Mapping& mapping) const override {
    return process_.file_times(mapping);
  }
  const MemorySource& memory() const override { return process_.memory(); }
  std::optional<Address> program_headers_address() const override {
    return process_.program_headers_address();
  }
  std::optional<Address> title_address() const override { return process_.title_address(); }
  bool is_alive() const override { return process_.is_alive(); }
  std::unique_ptr<Target> forked_from() const override { return process_.forked_from(); }

 private:
  const LiveProcess& process_;
  mutable std::optional<std::vector<Mapping>> listed_;  // read ahead, and not looked at yet
  mutable std::optional<Result<std::vector<Mapping>>> mappings_;
};

// The mappings of a target. Those of OneLook are not copied: it must live as long.
class MappingsOf {
 public:
  explicit MappingsOf(const Target& target)
      : look_(dynamic_cast<const OneLook*>(&target)),
        own_(look_ == nullptr ? target.mappings() : std::vector<Mapping>()) {}

  explicit operator bool() const { return all().has_value(); }
  const std::vector<Mapping>& operator*() const { return *all(); }
  const std::vector<Mapping>* operator->() const { return &*all(); }
  const Error& error() const { return all().error(); }

 private:
  const Result<std::vector<Mapping>>& all() const {
    return look_ == nullptr ? own_ : look_->look();
  }

  const OneLook* look_;
  Result<std::vector<Mapping>> own_;
};

}  // namespace labelscope
