// OneLook is a process whose mappings are read once, and no more of them than planning needs:
// several parts of a plan ask for them, and a process may have 60,000.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
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
    since_ns_ = monotonic_ns();
    auto listed = listed_mappings(process_);
    if (!listed || listed->empty()) return 0;
    std::size_t bytes = listed->size() * sizeof(Mapping);
    for (const Mapping& mapping : *listed) bytes += mapping.path.size();
    listed_ = *std::move(listed);
    return bytes;
  }

  Result<std::vector<Mapping>> mappings() const override { return look(); }
  const std::vector<Mapping>* kept_mappings() const override { return look() ? &*look() : nullptr; }
  // Returns the same, or why there are none.
  const Result<std::vector<Mapping>>& look() const {
    if (!mappings_ && listed_) {
      name_copied_text(process_, *listed_);
      mappings_ = *std::exchange(listed_, std::nullopt);
    }
    if (!mappings_) {
      since_ns_ = monotonic_ns();
      mappings_ = named_mappings(process_);
    }
    return *mappings_;
  }
  // Returns when the reading of these began (CLOCK_MONOTONIC); now, if they are still to be read.
  std::uint64_t since_ns() const { return mappings_ || listed_ ? since_ns_ : monotonic_ns(); }
  Result<UniqueFd> open_file(const Mapping& mapping) const override {
    return process_.open_file(mapping);
  }
  Result<UniqueFd> open_root() const override { return process_.open_root(); }
  Result<FileTimes> file_times(const Mapping& mapping) const override {
    return process_.file_times(mapping);
  }
  Result<OpenedFile> open_with_times(const Mapping& mapping) const override {
    return process_.open_with_times(mapping);
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
  mutable std::uint64_t since_ns_ = 0;  // when their reading began
};

// The mappings of a target, which must live as long. They are copied only if it does not keep them.
class MappingsOf {
 public:
  explicit MappingsOf(const Target& target)
      : kept_(target.kept_mappings()),
        own_(kept_ == nullptr ? target.mappings() : std::vector<Mapping>()) {}

  explicit operator bool() const { return own_.has_value(); }
  const std::vector<Mapping>& operator*() const { return kept_ == nullptr ? *own_ : *kept_; }
  const std::vector<Mapping>* operator->() const { return &**this; }
  const Error& error() const { return own_.error(); }

 private:
  const std::vector<Mapping>* kept_;
  Result<std::vector<Mapping>> own_;
};

}  // namespace labelscope
