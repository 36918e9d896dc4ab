// Compresses into a stream, piece by piece, so that a large profile is never in memory as a whole.
#pragma once

#include <zlib.h>

#include <ostream>
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
  void deflate_input(int flush);

  std::ostream& out_;
  z_stream zlib_{};
  std::vector<char> buffer_;
  int zlib_result_ = Z_OK;
};

}  // namespace labelscope::cli
