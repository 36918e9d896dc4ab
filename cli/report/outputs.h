// The files that a profile becomes. They are opened before the work starts and written when it is
// over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/format/format.h"
#include "cli/host/output_file.h"

namespace labelscope::cli {

struct WrittenFile {
  std::string path;
  Format format{};
  std::uint64_t size = 0;
};

class Outputs {
 public:
  // If `paths` is empty: labelscope-<base_name>-<UTC>.pb.gz and the page beside it, or one file of
  // that name if `format` is given. `format` is for every path; without it, the extension of each
  // path decides. The error says which path cannot be used, and why.
  static Result<Outputs> open(std::vector<std::string> paths, std::optional<Format> format,
                              bool overwrite, const std::string& base_name = {});

  // OutputFile::can_be_named() of all.
  bool can_be_named() const;
  // Whether one of the files is stdout.
  bool take_stdout() const;
  // How many samples the formats have each by itself, with its time.
  std::size_t timed_samples() const;

  // Writes all files. If some fail, it writes the others, and `errors` tells which failed.
  std::vector<WrittenFile> write(const Profile& profile, const RenderOptions& options,
                                 std::vector<Error>& errors);

 private:
  struct Output {
    OutputFile file;
    Format format;
  };
  std::vector<Output> outputs_;
};

}  // namespace labelscope::cli
