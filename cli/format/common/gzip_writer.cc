// Two libraries can compress in one gzip member, and the build takes the first that it finds. The
// first numbers are of 694,000 rows that have little in common (81 MB), the others of 842,000 rows
// in which one label is nearly always new (99 MB):
//
//   ISA-L, level 1                 44 ms,  6.9 MB       72 ms, 14.7 MB
//   ISA-L, level 3                210 ms,  6.7 MB      257 ms, 13.9 MB
//   zlib, level 1                 202 ms,  7.1 MB      371 ms, 15.1 MB
//   zlib, level 3                 238 ms,  7.0 MB      388 ms, 14.9 MB
//   libdeflate, a MiB at a time   117 ms,  6.8 MB      178 ms, 14.4 MB
//
// libdeflate has no streams, so the file would have a gzip member for each piece. Of such a file,
// flate2::GzDecoder of Rust takes the first member alone, and the DecompressionStream of browsers
// refuses the second one. Distributions have no archive of ISA-L, so the program that needs only
// libc has zlib (cli/portable.cmake), and so has what is built for another processor
// (scripts/cross_sysroot.sh).
#include "cli/format/common/gzip_writer.h"

#ifdef LABELSCOPE_WITH_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

constexpr std::size_t kPackedBytes = 256UL * 1024;
constexpr int kLevel = 1;
constexpr std::size_t kMostAtOnce = UINT32_MAX;  // both libraries count 32 bits

}  // namespace

#ifdef LABELSCOPE_WITH_ISAL
class GzipWriter::Library {
 public:
  Library() : room_(ISAL_DEF_LVL1_DEFAULT) {
    isal_deflate_init(&stream_);
    stream_.level = kLevel;
    stream_.level_buf = room_.data();
    stream_.level_buf_size = static_cast<std::uint32_t>(room_.size());
    stream_.gzip_flag = IGZIP_GZIP;
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // What goes in is taken as a whole by a call of step() that fills less than `out`.
  void take(std::string_view bytes, bool is_last) {
    // The library's interface predates const; it only reads from here.
    stream_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<std::uint32_t>(bytes.size());
    stream_.end_of_stream = is_last ? 1 : 0;
  }
  // Returns how many bytes of `out` it has filled.
  std::size_t step(std::span<char> out, std::string& problem) {
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = static_cast<std::uint32_t>(out.size());
    const int result = isal_deflate(&stream_);
    if (result != COMP_OK) problem = "ISA-L's error " + std::to_string(result);
    return out.size() - stream_.avail_out;
  }
  // Whether the member is whole.
  bool has_ended() const { return stream_.internal_state.state == ZSTATE_END; }

 private:
  isal_zstream stream_{};
  std::vector<std::uint8_t> room_;
};
#else
class GzipWriter::Library {
 public:
  Library() {
    // 15 is the largest window; adding 16 asks zlib for a gzip header instead of its own.
    constexpr int kGzipWindowBits = 15 + 16;
    constexpr int kDefaultMemoryLevel = 8;
    result_ = deflateInit2(&stream_, kLevel, Z_DEFLATED, kGzipWindowBits, kDefaultMemoryLevel,
                           Z_DEFAULT_STRATEGY);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { deflateEnd(&stream_); }

  // What goes in is taken as a whole by a call of step() that fills less than `out`.
  void take(std::string_view bytes, bool is_last) {
    // zlib's interface predates const; it only reads from here.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    flush_ = is_last ? Z_FINISH : Z_NO_FLUSH;
  }
  // Returns how many bytes of `out` it has filled.
  std::size_t step(std::span<char> out, std::string& problem) {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    if (result_ == Z_OK) result_ = deflate(&stream_, flush_);
    // Z_BUF_ERROR means that zlib had nothing to do. That is no failure: the output before it had
    // filled the buffer exactly.
    if (result_ == Z_BUF_ERROR) result_ = Z_OK;
    if (result_ != Z_OK && result_ != Z_STREAM_END) problem = zError(result_);
    return out.size() - stream_.avail_out;
  }
  // Whether the member is whole.
  bool has_ended() const { return result_ == Z_STREAM_END; }

 private:
  z_stream stream_{};
  int flush_ = Z_NO_FLUSH;
  int result_ = Z_OK;
};
#endif

GzipWriter::GzipWriter(std::ostream& out)
    : out_(out), library_(std::make_unique<Library>()), buffer_(kPackedBytes) {}

GzipWriter::~GzipWriter() = default;

void GzipWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t piece = std::min(bytes.size(), kMostAtOnce);
    compress(bytes.substr(0, piece), false);
    bytes.remove_prefix(piece);
  }
}

Status GzipWriter::finish() {
  compress({}, true);
  if (problem_.empty() && !library_->has_ended()) problem_ = "the compressor has not ended";
  if (!problem_.empty()) {
    return Error{ErrorCode::kSystem, "the profile could not be compressed: " + problem_};
  }
  return flush_output(out_);
}

// If the buffer is full, the library may have more output. Otherwise it has given all that it can.
void GzipWriter::compress(std::string_view bytes, bool is_last) {
  if (!problem_.empty()) return;
  library_->take(bytes, is_last);
  std::size_t filled = 0;
  do {
    filled = library_->step(buffer_, problem_);
    out_.write(buffer_.data(), static_cast<std::streamsize>(filled));
  } while (filled == buffer_.size() && problem_.empty());
}

}  // namespace labelscope::cli
