// The files of one recording. They are opened before sampling starts and written when it is over.
#pragma once

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
  // If `paths` is empty: one file, labelscope-<comm>-<pid>-<UTC>.<extension>. `format` is for every
  // path; without it, the extension of each path decides. The error says which path cannot be used,
  // and why.
  static Result<Outputs> open(std::vector<std::string> paths, std::optional<Format> format,
                              bool overwrite, Pid pid, const std::string& comm);

  // Whether one of the files is stdout.
  bool take_stdout() const;
  // Whether one of the formats has each sample by itself.
  bool keep_each_sample() const;

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
