// Unpacks while it is read: so a large recording is never in memory as a whole.
#pragma once

#include <zlib.h>

#include <istream>
#include <streambuf>
#include <string>
#include <vector>

namespace labelscope::cli {

// What a gzip file holds, one after the other if it holds several. Where the file is cut short or
// damaged it ends, and `problem` says so.
class GzipSource : public std::streambuf {
 public:
  explicit GzipSource(std::istream& in);
  ~GzipSource() override;
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  // Empty: everything was there.
  const std::string& problem() const { return problem_; }

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
  bool begun_ = false;  // within a gzip member
  bool over_ = false;
};

}  // namespace labelscope::cli
