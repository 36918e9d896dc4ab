#include "cli/format/common/rows.h"

#include <algorithm>
#include <functional>
#include <sstream>

#include "cli/format/common/row_labels.h"
#include "cli/format/format.h"
#include "support/catch.h"
#include "unit/format/profile_maker.h"

using namespace labelscope;
using namespace labelscope::cli;
using labelscope::test::SmallProfile;

namespace {

template <class Table>
Index end_of(const Table& table) {
  return static_cast<Index>(table.size());
}

}  // namespace

TEST_CASE("rows: equal rows are added up, and any part that differs keeps them apart") {
  SmallProfile small;
  const Index set = small.labels({{"a", "1"}});
  const Index other_set = small.labels({{"a", "2"}});
  const Index other_thread = small.thread(100, 102, "worker");
  const Index other_stack = small.stack({0});
  auto add = [&](Index thread, Index stack, Index labels, unsigned outcome, unsigned flags) {
    small.sample(thread, stack, labels, outcome, flags).count = 3;
  };
  add(small.shop_thread, small.work_stack, set, LS_LABELLED, 0);
  add(other_thread, small.work_stack, set, LS_LABELLED, 0);
  add(small.shop_thread, other_stack, set, LS_LABELLED, 0);
  add(small.shop_thread, small.work_stack, other_set, LS_LABELLED, 0);
  add(small.shop_thread, small.work_stack, set, LS_UNREADABLE_MALFORMED, 0);
  add(small.shop_thread, small.work_stack, set, LS_LABELLED, LS_NULL_VALUE);
  add(small.shop_thread, small.work_stack, set, LS_LABELLED, 0);

  const auto rows = aggregate_rows(small.profile, {});
  REQUIRE(rows.size() == 6);
  std::uint64_t twice = 0;
  for (const SampleRow& row : rows) twice += row.count == 6;
  CHECK(twice == 1);

  CHECK(aggregate_rows(small.profile, {.flags = 0}).size() == 5);
  CHECK(aggregate_rows(small.profile, {.stack = false, .flags = 0}).size() == 4);
  CHECK(aggregate_rows(small.profile, {.label_set = false, .flags = 0}).size() == 4);
}

TEST_CASE("rows: those of a label set are ordered by thread or by stack, as is wanted") {
  SmallProfile small;
  const Index thread = small.thread(100, 102, "worker");
  const Index stack = small.stack({0});
  const auto add = [&](Index of_thread, Index of_stack) {
    small.sample(of_thread, of_stack, small.no_labels, LS_UNLABELLED, 0);
  };
  add(thread, stack);
  add(small.shop_thread, stack);
  add(thread, small.work_stack);
  const auto by_thread = aggregate_rows(small.profile, {});
  const auto by_stack = aggregate_rows(small.profile, {.stacks_first = true});
  REQUIRE(by_thread.size() == 3);
  REQUIRE(by_stack.size() == 3);
  CHECK(by_thread[1].thread == thread);
  CHECK(by_thread[2].thread == thread);
  CHECK(by_stack[0].stack == small.work_stack);
  CHECK(by_stack[1].thread == small.shop_thread);
}

TEST_CASE("rows: counts are added up beyond 32 bits") {
  SmallProfile small;
  for (int i = 0; i < 3; ++i) small.labelled({}).count = UINT32_MAX;
  for (SampleRow& row : small.profile.rows) row.label_set = small.no_labels;
  const auto rows = aggregate_rows(small.profile, {});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].count == 3ULL * UINT32_MAX);
}

TEST_CASE("rows: an index outside its table is refused by every format, and named") {
  struct Break {
    std::string named;
    std::function<void(SmallProfile&)> apply;
  };
  const std::vector<Break> breaks = {
      {"thread", [](SmallProfile& p) { p.profile.rows[0].thread = 9; }},
      // Each index is one beyond the last.
      {"thread", [](SmallProfile& p) { p.profile.rows[0].thread = end_of(p.profile.threads); }},
      {"location",
       [](SmallProfile& p) { p.profile.stacks[0].frames.push_back(end_of(p.profile.locations)); }},
      {"module",
       [](SmallProfile& p) { p.profile.locations[0].module = end_of(p.profile.modules); }},
      {"stack", [](SmallProfile& p) { p.profile.rows[0].stack = 9; }},
      {"label set", [](SmallProfile& p) { p.profile.rows[0].label_set = 9; }},
      {"location", [](SmallProfile& p) { p.profile.stacks[0].frames.push_back(9); }},
      {"location", [](SmallProfile& p) { p.profile.stacks[0].frames.push_back(kNoIndex); }},
      {"module", [](SmallProfile& p) { p.profile.locations[0].module = 9; }},
      {"program", [](SmallProfile& p) { p.profile.program = 9; }},
      {"labels", [](SmallProfile& p) { p.profile.label_sets[0].resize(1000); }},
  };
  for (const Break& broken : breaks) {
    SmallProfile small;
    small.labelled({{"a", "1"}});
    REQUIRE(check_tables(small.profile).has_value());
    broken.apply(small);
    for (const Format& format : kFormats) {
      CAPTURE(broken.named, format.name);
      std::ostringstream out;
      const Status status = format.render(small.profile, {}, out);
      REQUIRE_FALSE(status.has_value());
      CHECK(status.error().code == ErrorCode::kMalformed);
      CHECK(status.error().context.find(broken.named) != std::string::npos);
      CHECK(out.str().empty());
    }
  }
}

TEST_CASE("rows: rows without thread, stack or labels render in every format") {
  SmallProfile small;
  small.sample(kNoIndex, kNoIndex, kNoIndex, LS_UNLABELLED);
  for (const Format& format : kFormats) {
    std::ostringstream out;
    CHECK(format.render(small.profile, {.group_by = {"a", "pid", "comm"}}, out).has_value());
    CHECK_FALSE(out.str().empty());
  }
}

TEST_CASE("rows: a stream that does not take the bytes is an error in every format") {
  struct FullDisk : std::streambuf {};  // the default streambuf takes nothing
  SmallProfile small;
  small.labelled({{"a", "1"}});
  for (const Format& format : kFormats) {
    CAPTURE(format.name);
    FullDisk disk;
    std::ostream out(&disk);
    const Status status = format.render(small.profile, {}, out);
    REQUIRE_FALSE(status.has_value());
    CHECK(status.error().code == ErrorCode::kSystem);
  }
}

TEST_CASE("row_labels: a label wins over our own key, and an empty value is a value") {
  SmallProfile small;
  small.labelled({{"pid", "mine"}, {"empty", ""}});
  const RowLabels labels(small.profile);
  const SampleRow row = aggregate_rows(small.profile, {})[0];
  CHECK(labels.value(row, "pid") == "mine");
  CHECK(labels.value(row, "thread_id") == "101");
  CHECK(labels.value(row, "thread_name") == "worker");
  CHECK(labels.value(row, "comm") == "shop");
  CHECK(labels.value(row, "empty") == "");
  CHECK_FALSE(labels.value(row, "absent").has_value());
  CHECK(labels.group_frame(row, "empty") == "empty=<empty>");
  CHECK(labels.group_frame(row, "absent") == "absent=<none>");
}

TEST_CASE("row_labels: every flag has a name of its own") {
  std::string all = flag_words(UINT16_MAX >> (16 - kSampleFlagCount));
  CHECK(std::count(all.begin(), all.end(), '|') == kSampleFlagCount - 1);
  CHECK(('|' + all + '|').find("|unknown|") == std::string::npos);
  CHECK(flag_words(LS_NULL_VALUE | LS_KEY_CONFLICT) == "null-value|key-conflict");
  CHECK(flag_words(0).empty());
  CHECK(truncated_words(LS_TRUNCATED) == "labels|bytes|slots");
  CHECK(truncated_words(LS_TRUNCATED_BYTES | LS_RETRIED) == "bytes");
}

TEST_CASE("format: an extension leads to its format, another to none") {
  for (const Format& format : kFormats) {
    CHECK(format_from_path("a/b" + std::string(format.extension)) == format);
    CHECK_FALSE(format_from_path(format.name).has_value());
  }
  CHECK(format_from_path("a/b.pb.gz") == Format::kPprof);
  CHECK(format_from_path("b.folded")->name == "folded");
  CHECK(format_from_path("b.jsonl")->name == "jsonl");
  CHECK_FALSE(format_from_path("b.gz").has_value());
}
