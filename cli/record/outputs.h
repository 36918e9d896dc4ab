// The files of one recording: named, opened before sampling starts, written when it is over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/format/format.h"
#include "cli/record/output_file.h"

namespace labelscope::cli {

struct WrittenFile {
  std::string path;
  Format format{};
  std::uint64_t size = 0;
};

class Outputs {
 public:
  // `paths` empty: one file, labelscope-<comm>-<pid>-<UTC>.<extension>. `format` holds for every
  // path; without it the extension decides. The error says which path cannot be had and why.
  static Result<Outputs> open(std::vector<std::string> paths, std::optional<Format> format,
                              bool overwrite, Pid pid, const std::string& comm);

  // One of them is stdout.
  bool take_stdout() const;
  // One of them holds each sample by itself.
  bool keep_each_sample() const;

  // Writes them all; what failed is in `errors`, and the others are written all the same.
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
