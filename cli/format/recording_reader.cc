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

// Both begin with a message as field 1: here it has messages itself, in pprof it has numbers.
bool is_otlp(std::string_view bytes) {
  constexpr char kFirstMessage = 0x0a;
  constexpr char kSecondMessage = 0x12;
  if (!bytes.starts_with(kFirstMessage)) return false;
  std::size_t at = 1;  // of the length
  while (at < bytes.size() && (bytes[at] & 0x80) != 0) ++at;
  const bool empty = at == 1 && bytes.substr(1, 1) == std::string_view("\0", 1);
  return !empty && at + 1 < bytes.size() &&
         (bytes[at + 1] == kFirstMessage || bytes[at + 1] == kSecondMessage);
}

Result<ReadRecording> read_unpacked(std::istream& in) {
  const int first = in.peek();
  // A recording is lines of JSON. No field of a pprof file begins with this byte.
  if (first == '{' || first == std::istream::traits_type::eof()) return read_jsonl(in);
  auto bytes = whole(in);
  if (!bytes) return std::move(bytes).error();
  if (is_otlp(*bytes)) {
    return Error{ErrorCode::kUnsupported,
                 "it has profiles of OpenTelemetry (OTLP), which labelscope writes and does not "
                 "read; read the recording that they are from"};
  }
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
