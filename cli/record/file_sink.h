// Files that are made of one window.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/options/session_options.h"
#include "cli/record/sink.h"
#include "cli/report/outputs.h"

namespace labelscope::cli {

class FileSink final : public Sink {
 public:
  // The options must outlive it. `drop_to`: to whom the files belong, if not to the user.
  FileSink(const OutputOptions& options, const std::optional<User>& drop_to)
      : options_(options), drop_to_(drop_to) {}

  Status begin(const std::string& base_name) override;
  bool can_be_named() const override { return !outputs_ || outputs_->can_be_named(); }
  std::size_t timed_samples() const override { return outputs_ ? outputs_->timed_samples() : 0; }
  // Fails with the first error; written() has all.
  Status take(const Window& window) override;
  void abandon() override { outputs_.reset(); }

  const Outputs& outputs() const { return *outputs_; }
  const Written& written() const { return written_; }

 private:
  const OutputOptions& options_;
  const std::optional<User>& drop_to_;
  std::optional<Outputs> outputs_;
  Written written_;
};

}  // namespace labelscope::cli
