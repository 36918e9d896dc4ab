#include "cli/unwind/table_messages.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_message.hpp>
#include <type_traits>

#include "base/malformed.h"
#include "cli/worker/channel.h"
#include "cli/worker/fields.h"

namespace labelscope::cli {
namespace {

using protozero::pbf_builder;
using protozero::pbf_message;

// Both sides are the same program: rows and rules are sent as they are in memory. kCounts comes
// last.
enum class Reply : protozero::pbf_tag_type { kRows = 1, kRules, kPages, kSegments, kText, kCounts };

constexpr std::size_t kChunk = std::size_t{64} << 10;
static_assert(kChunk + 64 < kMaxPacket, "a chunk and its head fit into a packet");
static_assert(std::has_unique_object_representations_v<ls_unwind_rule>,
              "no byte of a rule is of nothing");

constexpr std::uint64_t kPageBytes = 1ULL << LS_UNWIND_PAGE_BITS;
// A kernel loads no file with more than 64 KiB of program headers.
constexpr std::size_t kMaxSegments = 65536 / 56;
constexpr std::size_t kSegmentNumbers = 6;
constexpr std::size_t kCountNumbers = 10;

template <class T>
void send_chunks(Reply tag, const std::vector<T>& values,
                 const std::function<void(std::string)>& send) {
  constexpr std::size_t kMost = kChunk / sizeof(T);
  for (std::size_t at = 0; at < values.size(); at += kMost) {
    const std::size_t count = std::min(kMost, values.size() - at);
    std::string body;
    pbf_builder<Reply> builder(body);
    builder.add_bytes(tag, reinterpret_cast<const char*>(&values[at]), count * sizeof(T));
    send(std::move(body));
  }
}

template <class T>
Status take_chunk(std::string_view bytes, std::size_t most, std::vector<T>& values) {
  const std::size_t count = bytes.size() / sizeof(T);
  if (bytes.size() % sizeof(T) != 0) return malformed("it sends a part of a row or rule");
  if (count > most - values.size()) return malformed("it sends a larger table than any may be");
  const std::size_t before = values.size();
  values.resize(before + count);
  if (count != 0) std::memcpy(&values[before], bytes.data(), bytes.size());
  return {};
}

// Returns false if there are not exactly so many.
template <std::size_t kCount>
bool take_numbers(const std::vector<std::uint64_t>& packed,
                  std::array<std::uint64_t, kCount>& numbers) {
  if (packed.size() != kCount) return false;
  std::copy(packed.begin(), packed.end(), numbers.begin());
  return true;
}

template <class Packed>
std::vector<std::uint64_t> listed(const Packed& packed) {
  return {packed.begin(), packed.end()};
}

}  // namespace

void send_table(const UnwindTable& table, const std::function<void(std::string)>& send) {
  send_chunks(Reply::kRows, table.rows, send);
  send_chunks(Reply::kRules, table.rules, send);
  std::vector<std::uint32_t> rows_of_pages;
  rows_of_pages.reserve(table.pages.size());
  for (const ls_unwind_rows& page : table.pages) rows_of_pages.push_back(page.count);
  send_chunks(Reply::kPages, rows_of_pages, send);
  std::string body;
  pbf_builder<Reply> builder(body);
  // Segments beyond the bound are never loaded.
  for (std::size_t i = 0; i < std::min(table.segments.size(), kMaxSegments); ++i) {
    const LoadSegment& segment = table.segments[i];
    const std::array<std::uint64_t, kSegmentNumbers> numbers{
        segment.vaddr,       segment.file_offset,          segment.file_size,
        segment.memory_size, segment.executable ? 1U : 0U, segment.writable ? 1U : 0U};
    builder.add_packed_uint64(Reply::kSegments, numbers.begin(), numbers.end());
  }
  builder.add_uint64(Reply::kText, table.text);
  const CodeCounts& counts = table.counts;
  const std::array<std::uint64_t, kCountNumbers> numbers{static_cast<std::uint64_t>(table.machine),
                                                         counts.functions,
                                                         counts.damaged_functions,
                                                         counts.hidden_functions,
                                                         counts.code_bytes,
                                                         counts.gap_bytes,
                                                         counts.frame_pointer_bytes,
                                                         counts.unsupported_bytes,
                                                         counts.go_functions,
                                                         counts.go_refused ? 1U : 0U};
  builder.add_packed_uint64(Reply::kCounts, numbers.begin(), numbers.end());
  send(std::move(body));
}

Status TableReader::take(std::string_view body) {
  const std::size_t most_pages = static_cast<std::size_t>(limits_.text_bytes / kPageBytes) + 1;
  Status status;
  const Status read = read_fields<Reply>(body, [&](pbf_message<Reply>& message) {
    Field<Reply> field(message);
    Status taken;
    switch (message.tag()) {
      case Reply::kRows:
        // The first row of a page may repeat the last one of the page before.
        taken = take_chunk(field.bytes(), limits_.rows + most_pages, table_.rows);
        break;
      case Reply::kRules:
        taken = take_chunk(field.bytes(), limits_.rules, table_.rules);
        break;
      case Reply::kPages: {
        std::vector<std::uint32_t> rows_of_pages;
        taken = take_chunk(field.bytes(), most_pages - table_.pages.size(), rows_of_pages);
        for (const std::uint32_t count : rows_of_pages) table_.pages.push_back({0, count});
        break;
      }
      case Reply::kSegments:
        taken = take_segment(listed(field.packed_uint64()));
        break;
      case Reply::kText:
        table_.text = field.number();
        break;
      case Reply::kCounts:
        taken = take_counts(listed(field.packed_uint64()));
        break;
      default:
        message.skip();
    }
    if (status) status = taken;
  });
  return read ? status : read;
}

Status TableReader::take_segment(const std::vector<std::uint64_t>& packed) {
  std::array<std::uint64_t, kSegmentNumbers> numbers{};
  if (!take_numbers(packed, numbers) || table_.segments.size() == kMaxSegments) {
    return malformed("it sends segments that cannot be");
  }
  table_.segments.push_back(
      {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4] != 0, numbers[5] != 0});
  return {};
}

Status TableReader::take_counts(const std::vector<std::uint64_t>& packed) {
  std::array<std::uint64_t, kCountNumbers> numbers{};
  if (!take_numbers(packed, numbers) ||
      numbers[0] > static_cast<std::uint64_t>(Machine::kAarch64)) {
    return malformed("it sends counts that cannot be");
  }
  table_.machine = static_cast<Machine>(numbers[0]);
  table_.counts = {numbers[1], numbers[2], numbers[3], numbers[4],     numbers[5],
                   numbers[6], numbers[7], numbers[8], numbers[9] != 0};
  complete_ = true;
  return {};
}

Status TableReader::check_sizes() const {
  if (!complete_) return malformed("it ends before the end of the table");
  if (table_.pages.empty() || table_.rules.empty()) return malformed("its table has no rules");
  std::uint64_t end = 0;
  if (table_.text % kPageBytes != 0 ||
      __builtin_add_overflow(table_.text, table_.pages.size() * kPageBytes - 1, &end)) {
    return malformed("its table is of code that cannot be");
  }
  if (!std::ranges::all_of(table_.rules,
                           [](const auto& rule) { return ls_is_unwind_rule(&rule) != 0; })) {
    return malformed("its table has a rule of no known kind");
  }
  return {};
}

Status TableReader::check_rows() {
  std::size_t at = 0;
  for (ls_unwind_rows& page : table_.pages) {
    page.first = static_cast<std::uint32_t>(at);
    if (page.count == 0 || page.count > LS_UNWIND_BLOCK_ROWS ||
        page.count > table_.rows.size() - at) {
      return malformed("its table has a page with an impossible number of rows");
    }
    for (const std::size_t end = at + page.count; at < end; ++at) {
      const std::uint32_t row = table_.rows[at];
      const bool in_order =
          at == page.first ? LS_UNWIND_ROW_OFFSET(row) == 0
                           : LS_UNWIND_ROW_OFFSET(table_.rows[at - 1]) < LS_UNWIND_ROW_OFFSET(row);
      if (!in_order) return malformed("its table has rows that are not in order");
      if (LS_UNWIND_ROW_RULE(row) >= table_.rules.size()) {
        return malformed("its table refers to a rule that it does not have");
      }
    }
  }
  return at == table_.rows.size() ? Status() : malformed("its table has rows of no page");
}

Result<UnwindTable> TableReader::finish() {
  if (Status status = check_sizes(); !status) return std::move(status).error();
  if (Status status = check_rows(); !status) return std::move(status).error();
  return std::move(table_);
}

}  // namespace labelscope::cli
