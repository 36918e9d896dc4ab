#include "cli/format/recording_reader.h"

#include <array>
#include <istream>

#include "cli/format/common/gzip_source.h"
#include "cli/format/jsonl/jsonl_reader.h"
#include "cli/format/pprof/pprof_reader.h"
#include "cli/text/text.h"

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

// The last word of a line of folded stacks, if it is one: "main;work 12".
bool ends_with_number(std::string_view line) {
  const std::size_t space = line.rfind(' ');
  return space != line.npos && space + 1 < line.size() &&
         line.find_first_not_of("0123456789", space + 1) == line.npos;
}

// What labelscope writes and does not read, in words; empty: it is nothing of that.
std::string_view written_only(std::string_view bytes) {
  if (is_otlp(bytes)) return "profiles of OpenTelemetry (OTLP)";
  const std::string_view line = bytes.substr(0, bytes.find_first_of("\r\n"));
  if (line.find(",samples,function,module,stack_end,") != line.npos) return "a table (.csv)";
  if (line.starts_with("<!doctype html>")) return "a page (.html)";
  if (line.starts_with("<svg ") || line.starts_with("<?xml ")) return "a picture (.svg)";
  const bool text = line.find('\0') == line.npos;
  return text && ends_with_number(line) ? "folded stacks (.folded)" : "";
}

Result<ReadRecording> read_unpacked(std::istream& in) {
  const int first = in.peek();
  // Some editors put a byte order mark in front of UTF-8. No pprof file begins with its bytes.
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (first == 0xEF) {
    for (const char byte : kByteOrderMark) {
      if (in.get() != static_cast<unsigned char>(byte)) {
        return Error{ErrorCode::kMalformed, "it does not begin as a recording of labelscope does"};
      }
    }
    return read_jsonl(in);
  }
  // A recording is lines of JSON. No field of a pprof file begins with this byte.
  if (first == '{' || first == std::istream::traits_type::eof()) return read_jsonl(in);
  auto bytes = whole(in);
  if (!bytes) return std::move(bytes).error();
  if (const std::string_view what = written_only(*bytes); !what.empty()) {
    return Error{ErrorCode::kUnsupported,
                 "it holds " + std::string(what) +
                     ", which labelscope writes and does not read; read the recording (.jsonl) or "
                     "the pprof file of the same samples"};
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
