// Unpacks gzip while it is read, so that a large recording is never in memory as a whole.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <istream>
#include <streambuf>
#include <string>
#include <vector>

namespace labelscope::cli {

// The contents of a gzip file, of all its members if it has several. If the file is cut short or
// damaged, the stream ends there and `problem` has the reason.
class GzipSource : public std::streambuf {
 public:
  explicit GzipSource(std::istream& in);
  ~GzipSource() override;
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  // Empty: the file was whole.
  const std::string& problem() const { return problem_; }
  // Returns whether it unpacks to far more than any recording does; reading stops there.
  bool is_too_large() const { return too_large_; }
  // Returns the number of compressed bytes read so far.
  std::uint64_t taken() const { return taken_; }

 protected:
  int_type underflow() override;

 private:
  bool fill();
  void unpack();

  std::istream& in_;
  z_stream zlib_{};
  std::vector<char> packed_;
  std::vector<char> unpacked_;
  std::string problem_;
  std::uint64_t taken_ = 0;
  std::uint64_t given_ = 0;
  bool too_large_ = false;
  bool begun_ = false;  // within a gzip member
  bool over_ = false;
};

}  // namespace labelscope::cli
