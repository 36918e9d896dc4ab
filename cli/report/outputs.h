// The files that are made of a profile. They are opened before the work starts, and written when it
// is over.
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

struct Written {
  std::vector<WrittenFile> files;
  std::vector<Error> errors;  // of those that could not be written
};

class Outputs {
 public:
  // If `paths` is empty, the files are labelscope-<base_name>-<UTC>.pb.gz and the page beside it,
  // or one file of that name if `format` is given. `format` is for every path; without it, the
  // extension of each path decides. The error names the path that cannot be used, and the reason.
  static Result<Outputs> open(std::vector<std::string> paths, std::optional<Format> format,
                              bool overwrite, const std::string& base_name = {});

  // OutputFile::can_be_named() for all of them.
  bool can_be_named() const;
  // Returns whether one of the files is stdout.
  bool take_stdout() const;
  // Returns how many samples the formats want with their time.
  std::size_t timed_samples() const;

  // Writes all files: recordings of `profile`, the others of `shown`. If some fail, it writes the
  // others.
  Written write(const Profile& profile, const Profile& shown, const RenderOptions& options);

 private:
  struct Output {
    OutputFile file;
    Format format;
  };
  std::vector<Output> outputs_;
};

}  // namespace labelscope::cli
