// Uses zlib's streaming inflate, one gzip member after the other.
#include "cli/format/common/gzip_source.h"

namespace labelscope::cli {
namespace {

constexpr std::size_t kBufferBytes = 256UL * 1024;

// 15 is the largest window; adding 16 asks zlib for a gzip header instead of its own.
constexpr int kGzipWindowBits = 15 + 16;

// Recordings are 5 to 20 times as large as their compressed files, and zlib's format ends at 1,032
// times. A file beyond this limit, unless it is small, was made to fill memory.
constexpr std::uint64_t kMostTimes = 100;
constexpr std::uint64_t kSmall = std::uint64_t{64} << 20;

}  // namespace

GzipSource::GzipSource(std::istream& in) : in_(in), packed_(kBufferBytes), unpacked_(kBufferBytes) {
  if (inflateInit2(&zlib_, kGzipWindowBits) != Z_OK) {
    problem_ = "there is no memory to unpack it";
    over_ = true;
  }
}

GzipSource::~GzipSource() { inflateEnd(&zlib_); }

GzipSource::int_type GzipSource::underflow() {
  char* const begin = unpacked_.data();
  setg(begin, begin, begin);
  while (!over_ && egptr() == begin) unpack();
  return egptr() == begin ? traits_type::eof() : traits_type::to_int_type(*begin);
}

// Returns false at the end of the file.
bool GzipSource::fill() {
  if (zlib_.avail_in > 0) return true;
  in_.read(packed_.data(), static_cast<std::streamsize>(packed_.size()));
  zlib_.next_in = reinterpret_cast<Bytef*>(packed_.data());
  zlib_.avail_in = static_cast<uInt>(in_.gcount());
  taken_ += zlib_.avail_in;
  return zlib_.avail_in > 0;
}

void GzipSource::unpack() {
  if (!fill()) {
    over_ = true;
    if (begun_) problem_ = "its compressed data end too early";
    return;
  }
  begun_ = true;
  zlib_.next_out = reinterpret_cast<Bytef*>(unpacked_.data());
  zlib_.avail_out = static_cast<uInt>(unpacked_.size());
  const int result = inflate(&zlib_, Z_NO_FLUSH);
  const std::size_t size = unpacked_.size() - zlib_.avail_out;
  setg(unpacked_.data(), unpacked_.data(), unpacked_.data() + size);
  given_ += size;
  if (given_ > kSmall && given_ / kMostTimes > taken_) {
    over_ = too_large_ = true;
    problem_ = "it unpacks to more than " + std::to_string(kMostTimes) +
               " times its size, as no recording does";
    return;
  }
  if (result == Z_STREAM_END) {
    begun_ = false;
    inflateReset(&zlib_);
  } else if (result != Z_OK && result != Z_BUF_ERROR) {
    over_ = true;
    problem_ = std::string("its compressed data are damaged") +
               (zlib_.msg == nullptr ? "" : std::string(" (") + zlib_.msg + ")");
  }
}

}  // namespace labelscope::cli
