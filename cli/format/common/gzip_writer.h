// Compresses into a stream, piece by piece, so that a large profile is never in memory as a whole.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/result.h"

namespace labelscope::cli {

class GzipWriter {
 public:
  explicit GzipWriter(std::ostream& out);
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  // After a failure this writes nothing more. finish() returns the failure.
  void write(std::string_view bytes);
  // Ends the gzip member and flushes the stream. Call it once, last.
  Status finish();

 private:
  class Library;
  void compress(std::string_view bytes, bool is_last);

  std::ostream& out_;
  std::unique_ptr<Library> library_;
  std::vector<char> buffer_;
  std::string problem_;
};

}  // namespace labelscope::cli
