// Tables arrive as they were sent, and messages that are no table are refused.
#include "cli/unwind/table_messages.h"

#include <algorithm>
#include <protozero/pbf_builder.hpp>

#include "cli/worker/channel.h"
#include "support/catch.h"
#include "unwind_table/frame_rules.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

constexpr std::uint32_t kPageBytes = 1U << LS_UNWIND_PAGE_BITS;

// Makes a table of two pages, with three rows and one row.
UnwindTable small_table() {
  UnwindTable table;
  table.machine = Machine::kAarch64;
  table.text = 0x40000;
  table.pages = {{0, 3}, {3, 1}};
  table.rows = {LS_UNWIND_ROW(0U, 1U), LS_UNWIND_ROW(16U, 0U), LS_UNWIND_ROW(65535U, 1U),
                LS_UNWIND_ROW(0U, 0U)};
  table.rules = {rule_of_kind(LS_CFA_GAP), rule_of_kind(LS_CFA_SIGNAL)};
  table.rules[1].operand = -3;
  table.rules[1].ra_offset = -8;
  table.segments = {{0x40000, 0x1000, 0x20000, 0x30000, true, false},
                    {UINT64_MAX, 1, 2, 3, false, true}};
  table.counts = {1, 2, 3, 4, 5, 6, 7};
  return table;
}

Result<UnwindTable> received(const UnwindTable& table, const UnwindTableLimits& limits = {}) {
  TableReader reader(limits);
  Status status;
  send_table(table, [&](const std::string& body) {
    CHECK(body.size() < kMaxPacket);
    if (status) status = reader.take(body);
  });
  if (!status) return std::move(status).error();
  return reader.finish();
}

// Returns why a table with this change is refused, or nothing if it is taken.
std::string why_not(const std::function<void(UnwindTable&)>& change,
                    const UnwindTableLimits& limits = {}) {
  UnwindTable table = small_table();
  change(table);
  const auto taken = received(table, limits);
  return taken ? std::string() : taken.error().context;
}

}  // namespace

TEST_CASE("table_messages: a table arrives as it was") {
  const UnwindTable sent = small_table();
  const auto taken = received(sent);
  REQUIRE(taken);
  CHECK(taken->machine == sent.machine);
  CHECK(taken->text == sent.text);
  CHECK(taken->rows == sent.rows);
  REQUIRE(taken->pages.size() == 2);
  CHECK(taken->pages[1].first == 3);
  CHECK(taken->pages[1].count == 1);
  REQUIRE(taken->rules.size() == 2);
  CHECK(taken->rules[1].cfa == LS_CFA_SIGNAL);
  CHECK(taken->rules[1].operand == -3);
  CHECK(taken->rules[1].ra_offset == -8);
  REQUIRE(taken->segments.size() == 2);
  CHECK(taken->segments[0].memory_size == 0x30000);
  CHECK(taken->segments[0].executable);
  CHECK(taken->segments[1].vaddr == UINT64_MAX);
  CHECK_FALSE(taken->segments[1].executable);
  CHECK(taken->segments[1].writable);
  CHECK(taken->counts.functions == 1);
  CHECK(taken->counts.unsupported_bytes == 7);
  CHECK(taken->rule_at(0x40010)->cfa == LS_CFA_GAP);
}

TEST_CASE("table_messages: the largest table fits into packets") {
  UnwindTable table = small_table();
  const std::size_t pages = (std::size_t{4} << 30) / kPageBytes;
  table.pages.assign(pages, {0, 100});
  table.rows.clear();
  for (std::size_t page = 0; page < pages; ++page) {
    for (std::uint32_t row = 0; row < 100; ++row) table.rows.push_back(LS_UNWIND_ROW(row, 0U));
  }
  table.rules.assign(UnwindTableLimits{}.rules, rule_of_kind(LS_CFA_GAP));
  const auto taken = received(table);
  REQUIRE(taken);
  CHECK(taken->rows == table.rows);
  CHECK(taken->pages.back().first == table.rows.size() - 100);
}

// What a builder makes, a reader takes: one kind that is refused costs a file all of its stacks.
TEST_CASE("table_messages: a rule of each kind arrives as it was, with any numbers") {
  UnwindTable sent = small_table();
  sent.rules.clear();
  for (std::uint8_t cfa = 0; cfa < LS_CFA_KIND_COUNT; ++cfa) {
    for (std::uint8_t ra = 0; ra < LS_RA_KIND_COUNT; ++ra) {
      for (std::uint8_t fp = 0; fp < LS_FP_KIND_COUNT; ++fp) {
        for (int operand = INT8_MIN; operand <= INT8_MAX; ++operand) {
          sent.rules.push_back(
              {cfa, ra, fp, static_cast<std::int8_t>(operand), INT32_MIN, -1, INT32_MAX});
        }
      }
    }
  }
  UnwindTableLimits limits;
  limits.rules = sent.rules.size();
  const auto taken = received(sent, limits);
  INFO((taken ? "" : taken.error().context));
  REQUIRE(taken);
  CHECK(std::ranges::equal(taken->rules, sent.rules, same_rule));
}

TEST_CASE("table_messages: what is no table is refused") {
  CHECK(why_not([](UnwindTable&) {}).empty());
  CHECK(why_not([](UnwindTable& t) { t.rows[1] = LS_UNWIND_ROW(16U, 2U); }) ==
        "its table refers to a rule that it does not have");
  CHECK(why_not([](UnwindTable& t) { t.rows[2] = LS_UNWIND_ROW(16U, 0U); }) ==
        "its table has rows that are not in order");
  CHECK(why_not([](UnwindTable& t) { t.rows[3] = LS_UNWIND_ROW(1U, 0U); }) ==
        "its table has rows that are not in order");
  CHECK(why_not([](UnwindTable& t) { t.pages[1].count = 2; }) ==
        "its table has a page with an impossible number of rows");
  CHECK(why_not([](UnwindTable& t) { t.pages[1].count = UINT32_MAX; }) ==
        "its table has a page with an impossible number of rows");
  CHECK(why_not([](UnwindTable& t) { t.pages[1].count = 0; }) ==
        "its table has a page with an impossible number of rows");
  CHECK(why_not([](UnwindTable& t) { t.pages.pop_back(); }) == "its table has rows of no page");
  CHECK(why_not([](UnwindTable& t) { t.pages.clear(); }) == "its table has no rules");
  CHECK(why_not([](UnwindTable& t) { t.rules.clear(); }) == "its table has no rules");
  CHECK(why_not([](UnwindTable& t) { t.rules[0].cfa = LS_CFA_KIND_COUNT; }) ==
        "its table has a rule of no known kind");
  CHECK(why_not([](UnwindTable& t) { t.rules[0].ra = LS_RA_KIND_COUNT; }) ==
        "its table has a rule of no known kind");
  CHECK(why_not([](UnwindTable& t) { t.rules[0].fp = LS_FP_KIND_COUNT; }) ==
        "its table has a rule of no known kind");
  CHECK(why_not([](UnwindTable& t) { t.text += 4096; }) == "its table is of code that cannot be");
  CHECK(why_not([](UnwindTable& t) { t.text = UINT64_MAX - kPageBytes + 1; }) ==
        "its table is of code that cannot be");
  CHECK(why_not([](UnwindTable& t) { t.machine = static_cast<Machine>(2); }) ==
        "it sends counts that cannot be");
  // The page has more rows than a block of the map.
  CHECK(why_not([](UnwindTable& t) {
          t.rows.clear();
          for (std::uint32_t i = 0; i <= LS_UNWIND_BLOCK_ROWS; ++i) {
            t.rows.push_back(LS_UNWIND_ROW(i, 0U));
          }
          t.pages = {{0, LS_UNWIND_BLOCK_ROWS + 1}};
        }) == "its table has a page with an impossible number of rows");
}

TEST_CASE("table_messages: a table beyond the limits is refused as it comes") {
  UnwindTableLimits limits;
  limits.rows = 1;
  limits.text_bytes = kPageBytes;
  CHECK(why_not([](UnwindTable& t) { t.pages[1].count = 1; }, limits) ==
        "it sends a larger table than any may be");
  limits = {};
  limits.rules = 1;
  CHECK(why_not([](UnwindTable&) {}, limits) == "it sends a larger table than any may be");
  limits = {};
  limits.text_bytes = 0;
  CHECK(why_not([](UnwindTable&) {}, limits) == "it sends a larger table than any may be");
  // These messages never end.
  UnwindTable endless = small_table();
  endless.segments.resize(1);
  TableReader reader;
  Status status;
  for (int i = 0; i < 2000 && status; ++i) {
    send_table(endless, [&](const std::string& body) {
      if (status) status = reader.take(body);
    });
  }
  CHECK_FALSE(status);
}

TEST_CASE("table_messages: bytes that are no message, and an answer that is cut short") {
  TableReader reader;
  CHECK_FALSE(reader.take("\xff\xff\xff"));
  // Each field comes as a number, and as a text.
  for (std::uint32_t tag = 1; tag <= 6; ++tag) {
    std::string number;
    protozero::pbf_writer(number).add_uint64(tag, 1);
    std::string text;
    protozero::pbf_writer(text).add_bytes(tag, "abcdabcdabcdabcd");
    TableReader other;
    CHECK((!other.take(number) || !other.take(text)));
  }
  std::string body;
  protozero::pbf_writer(body).add_bytes(1, "abc", 3);
  CHECK_FALSE(reader.take(body));
  std::vector<std::string> packets;
  send_table(small_table(), [&](std::string packet) { packets.push_back(std::move(packet)); });
  for (std::size_t count = 0; count < packets.size(); ++count) {
    TableReader cut;
    for (std::size_t i = 0; i < count; ++i) REQUIRE(cut.take(packets[i]));
    CHECK_FALSE(cut.finish());
  }
}
