#include "cli/format/recording_reader.h"

#include <array>
#include <istream>

#include "cli/format/gzip_source.h"
#include "cli/format/jsonl_reader.h"
#include "cli/format/pprof_reader.h"
#include "cli/format/text.h"

namespace labelscope::cli {
namespace {

// pprof files refer to texts and tables anywhere in the file, so it is in memory as a whole. The
// largest that labelscope has written had a tenth of this.
constexpr std::size_t kMostPprofBytes = std::size_t{1} << 30;

Result<std::string> whole(std::istream& in) {
  std::string bytes;
  std::array<char, 1U << 16> piece;
  while (in.read(piece.data(), piece.size()), in.gcount() > 0) {
    bytes.append(piece.data(), static_cast<std::size_t>(in.gcount()));
    if (bytes.size() > kMostPprofBytes) {
      return Error{ErrorCode::kLimit, "unpacked, it has more than " +
                                          with_thousands(kMostPprofBytes >> 20) +
                                          " MiB, which no pprof file should have"};
    }
  }
  if (in.bad()) return Error{ErrorCode::kSystem, "it cannot be read to its end"};
  return bytes;
}

Result<ReadRecording> read_unpacked(std::istream& in) {
  const int first = in.peek();
  // A recording is lines of JSON. No field of a pprof file begins with this byte.
  if (first == '{' || first == std::istream::traits_type::eof()) return read_jsonl(in);
  auto bytes = whole(in);
  if (!bytes) return std::move(bytes).error();
  return read_pprof(*bytes);
}

}  // namespace

Result<ReadRecording> read_recording(std::istream& in) {
  constexpr int kFirstOfGzip = 0x1f;  // neither JSON nor pprof begins with it
  if (in.peek() != kFirstOfGzip) return read_unpacked(in);
  GzipSource source(in);
  std::istream unpacked(&source);
  auto recording = read_unpacked(unpacked);
  if (in.bad()) return Error{ErrorCode::kSystem, "it cannot be read to its end"};
  if (source.problem().empty()) return recording;
  if (!recording) {
    return Error{recording.error().code, source.problem() + "; " + recording.error().context};
  }
  recording->lost.insert(recording->lost.begin(), source.problem());
  return recording;
}

}  // namespace labelscope::cli
