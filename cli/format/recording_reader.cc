#include "cli/format/recording_reader.h"

#include <algorithm>
#include <array>
#include <istream>

#include "cli/format/common/foreign_file.h"
#include "cli/format/common/gzip_source.h"
#include "cli/format/common/read_budget.h"
#include "cli/format/common/rows.h"
#include "cli/format/jsonl/jsonl_reader.h"
#include "cli/format/pprof/pprof_reader.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

// pprof files refer to texts and tables anywhere in the file, so the whole file is in memory. The
// largest that labelscope has written had a tenth of this.
constexpr std::size_t kMostPprofBytes = std::size_t{1} << 30;

// The first field of every pprof file has a number below 16, and is a number or has a length.
bool may_be_pprof(std::string_view bytes) {
  const auto tag = static_cast<unsigned char>(bytes.front());
  const unsigned type = tag & 7U;
  return tag >= 8 && tag < 128 && (type == 0 || type == 2);
}

Result<std::string> whole_pprof(std::istream& in, ReadBudget& budget) {
  std::string bytes;
  std::array<char, 1U << 16> piece;
  while (in.read(piece.data(), piece.size()), in.gcount() > 0) {
    const bool first = bytes.empty();
    bytes.append(piece.data(), static_cast<std::size_t>(in.gcount()));
    budget.read(static_cast<std::size_t>(in.gcount()));
    if (first) {
      if (std::string why = why_not_read(bytes); !why.empty()) {
        return Error{ErrorCode::kUnsupported, std::move(why)};
      }
      if (!may_be_pprof(bytes)) return Error{ErrorCode::kMalformed, std::string(kNeitherKind)};
    }
    if (bytes.size() > kMostPprofBytes) {
      return Error{ErrorCode::kLimit, "unpacked, it has more than " +
                                          with_thousands(kMostPprofBytes >> 20) +
                                          " MiB, which no pprof file should have"};
    }
  }
  if (in.bad()) return Error{ErrorCode::kSystem, "it cannot be read to its end"};
  return bytes;
}

// Keeps the samples of the wanted kind in a recording with several kinds of time.
Status choose_value(Profile& profile, const std::string& wanted) {
  if (wanted.empty()) return {};
  const auto is_wanted = [&](const ValueType& value) {
    return wanted == value.name || wanted == text_of(value);
  };
  const auto found = std::ranges::find_if(profile.values, is_wanted);
  if (found == profile.values.end()) {
    std::string there;
    for (const ValueType& value : profile.values) {
      there += (there.empty() ? "" : ", ") + text_of(value);
    }
    return Error{ErrorCode::kUnsupported, "it has no value " + wanted + "; there is: " + there};
  }
  if (!profile.has_kinds()) return {};
  const auto kind = static_cast<std::size_t>(found - profile.values.begin());
  std::erase_if(profile.rows, [&](const SampleRow& row) { return row.value != kind; });
  for (SampleRow& row : profile.rows) row.value = 0;
  profile.remarks.push_back("only " + text_of(*found) + " time");
  profile.values = {*found};
  profile.ledger = ledger_of_rows(profile);
  return {};
}

Result<ReadRecording> read_lines(std::istream& in, ReadBudget& budget, const std::string& value) {
  auto recording = read_jsonl(in, budget);
  if (!recording) return recording;
  if (Status has = choose_value(recording->profile, value); !has) return std::move(has).error();
  return recording;
}

Result<ReadRecording> read_unpacked(std::istream& in, const GzipSource* packed,
                                    const std::string& value) {
  ReadBudget budget(packed);
  const int first = in.peek();
  // Some editors put a byte order mark in front of UTF-8. No pprof file begins with its bytes.
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (first == 0xEF) {
    for (const char byte : kByteOrderMark) {
      if (in.get() != static_cast<unsigned char>(byte)) {
        return Error{ErrorCode::kMalformed, std::string(kNeitherKind)};
      }
    }
    return read_lines(in, budget, value);
  }
  // A recording is lines of JSON. No field of a pprof file begins with this byte.
  if (first == '{' || first == std::istream::traits_type::eof()) {
    return read_lines(in, budget, value);
  }
  auto bytes = whole_pprof(in, budget);
  if (!bytes) return std::move(bytes).error();
  if (packed != nullptr && packed->is_too_large()) {
    return Error{ErrorCode::kLimit, packed->problem()};
  }
  return read_pprof(*bytes, budget, value);
}

}  // namespace

Result<ReadRecording> read_recording(std::istream& in, const std::string& value) {
  constexpr int kFirstOfGzip = 0x1f;  // no JSON and no pprof file begins with it
  if (in.peek() != kFirstOfGzip) return read_unpacked(in, nullptr, value);
  GzipSource source(in);
  std::istream unpacked(&source);
  auto recording = read_unpacked(unpacked, &source, value);
  if (in.bad()) return Error{ErrorCode::kSystem, "it cannot be read to its end"};
  if (source.is_too_large()) return Error{ErrorCode::kLimit, source.problem()};
  if (source.problem().empty()) return recording;
  if (!recording) {
    return Error{recording.error().code, source.problem() + "; " + recording.error().context};
  }
  recording->lost.insert(recording->lost.begin(), source.problem());
  return recording;
}

}  // namespace labelscope::cli
