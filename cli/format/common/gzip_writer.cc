// Uses zlib's streaming deflate with a gzip header.
#include "cli/format/common/gzip_writer.h"

#include <algorithm>
#include <limits>
#include <string>

#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

constexpr std::size_t kBufferBytes = 256UL * 1024;

// The first numbers are of 694,000 rows that have little in common (81 MB), the others of 842,000
// rows in which one label is nearly always new (99 MB):
//   level 1                       202 ms,  7.1 MB      371 ms, 15.1 MB
//   level 3                       238 ms,  7.0 MB      388 ms, 14.9 MB
//   libdeflate, a MiB at a time   117 ms,  6.8 MB      178 ms, 14.4 MB
// libdeflate has no streams, so the file would have a gzip member for each piece. Of such a file,
// flate2::GzDecoder of Rust takes the first member alone, and the DecompressionStream of browsers
// refuses the second one.
constexpr int kLevel = 1;

// 15 is the largest window; adding 16 asks zlib for a gzip header instead of its own.
constexpr int kGzipWindowBits = 15 + 16;
constexpr int kDefaultMemoryLevel = 8;

}  // namespace

GzipWriter::GzipWriter(std::ostream& out) : out_(out), buffer_(kBufferBytes) {
  zlib_result_ = deflateInit2(&zlib_, kLevel, Z_DEFLATED, kGzipWindowBits, kDefaultMemoryLevel,
                              Z_DEFAULT_STRATEGY);
}

GzipWriter::~GzipWriter() { deflateEnd(&zlib_); }

void GzipWriter::write(std::string_view bytes) {
  while (!bytes.empty() && zlib_result_ == Z_OK) {
    const std::size_t piece = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
    // zlib's interface predates const; it only reads from here.
    zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    zlib_.avail_in = static_cast<uInt>(piece);
    deflate_input(Z_NO_FLUSH);
    bytes.remove_prefix(piece);
  }
}

Status GzipWriter::finish() {
  if (zlib_result_ == Z_OK) deflate_input(Z_FINISH);
  if (zlib_result_ != Z_STREAM_END) {
    return Error{ErrorCode::kSystem,
                 std::string("the profile could not be compressed: ") + zError(zlib_result_)};
  }
  return flush_output(out_);
}

void GzipWriter::deflate_input(int flush) {
  do {
    zlib_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
    zlib_.avail_out = static_cast<uInt>(buffer_.size());
    zlib_result_ = deflate(&zlib_, flush);
    const std::size_t produced = buffer_.size() - zlib_.avail_out;
    out_.write(buffer_.data(), static_cast<std::streamsize>(produced));
    // If the buffer is full, zlib may have more output. Otherwise it has written all that it can.
  } while (zlib_.avail_out == 0 && zlib_result_ == Z_OK);
  // Z_BUF_ERROR means that zlib had nothing to do. That is no failure: the output before it had
  // filled the buffer exactly.
  if (zlib_result_ == Z_BUF_ERROR) zlib_result_ = Z_OK;
}

}  // namespace labelscope::cli
