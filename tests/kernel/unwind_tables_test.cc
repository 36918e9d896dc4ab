// Tests tables in the maps of the unwinder: a BPF program finds what was put in, and a table that
// does not fit leaves nothing behind.
#include "bpf/unwind/unwind_tables.h"

#include <bpf/bpf.h>

#include <random>

#include "bpf/load/loading.h"
#include "kernel/unwind_maps.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

constexpr std::size_t kOneMap = std::size_t{LS_UNWIND_MAP_BLOCKS} * LS_UNWIND_BLOCK_ROWS * 4;
constexpr Pid kPid{4711};

struct Tables {
  explicit Tables(std::size_t most_bytes = kOneMap) : object(load_unwinder()) {
    auto opened = UnwindTables::open(object->object(), most_bytes, object->take_first_parts());
    REQUIRE(opened);
    tables = *std::move(opened);
  }
  std::uint32_t add(const UnwindTable& table) {
    auto number = tables->add(table);
    INFO((number ? "" : number.error().context));
    REQUIRE(number);
    return *number;
  }
  // Adds a table that must be refused, checks that nothing of it is left, and returns the error's
  // text.
  std::string refused(const UnwindTable& table, ErrorCode code = ErrorCode::kLimit) {
    const std::size_t before = tables->row_bytes();
    auto number = tables->add(table);
    REQUIRE_FALSE(number);
    CHECK(number.error().code == code);
    CHECK(tables->row_bytes() == before);
    return number.error().context;
  }
  std::unique_ptr<BpfObject> object;
  std::unique_ptr<UnwindTables> tables;
};

}  // namespace

TEST_CASE("unwind tables: the first parts of all arrays are there when the programs are") {
  const std::unique_ptr<BpfObject> object = load_unwinder();
  FirstParts parts = object->take_first_parts();
  for (const char* name : {"unwind_mappings", "unwind_pages", "unwind_rules", "unwind_blocks"}) {
    INFO(name);
    const UniqueFd part = parts.take(name);
    REQUIRE(part.valid());
    const std::uint32_t first = 0;
    std::uint32_t held = 0;
    REQUIRE(bpf_map_lookup_elem(map_fd(object->object(), name), &first, &held) == 0);
    bpf_map_info info{};
    std::uint32_t size = sizeof info;
    REQUIRE(bpf_obj_get_info_by_fd(part.get(), &info, &size) == 0);
    CHECK(held == info.id);
  }
}

TEST_CASE("unwind tables: a BPF program finds the rows that were added") {
  Tables own;
  const UnwindTable first = made_up_table(3, 1000, 7);
  const UnwindTable second = made_up_table(2, LS_UNWIND_BLOCK_ROWS, 9);
  const std::uint32_t one = own.add(first);
  const std::uint32_t other = own.add(second);
  REQUIRE(one != other);
  for (const auto& [number, table] : {std::pair(one, &first), std::pair(other, &second)}) {
    const ls_unwind_module module = module_of(*own.object, number);
    REQUIRE(module.page_count == table->pages.size());
    REQUIRE(module.rule_count == table->rules.size());
    for (std::uint32_t page = 0; page < module.page_count; ++page) {
      const auto begin = table->rows.begin() + table->pages[page].first;
      CHECK(rows_of(*own.object, module, page) ==
            std::vector<std::uint32_t>(begin, begin + table->pages[page].count));
    }
  }
  CHECK(own.tables->row_bytes() == (first.rows.size() + second.rows.size()) * 4);
  own.tables->remove(one);
  CHECK(module_of(*own.object, one).page_count == 0);
  CHECK(own.tables->row_bytes() == second.rows.size() * 4);
}

TEST_CASE("unwind tables: what has no room leaves nothing behind, and names the option") {
  Tables own;
  const UnwindTable all = made_up_table(LS_UNWIND_MAP_BLOCKS, LS_UNWIND_BLOCK_ROWS, 1);
  const UnwindTable small = made_up_table(1, 1, 2);
  const std::uint32_t large = own.add(all);
  CHECK_THAT(own.refused(small), Catch::Matchers::Contains("--max-unwind-mb"));
  own.tables->remove(large);
  CHECK(own.tables->row_bytes() == 0);
  // A table with one row more than there is room for is refused on its last page, and then all of
  // it is free.
  const std::uint32_t one = own.add(small);
  own.refused(all);
  own.tables->remove(one);
  own.add(all);
}

TEST_CASE("unwind tables: pages, rules and files of removed tables are free again") {
  Tables own;
  std::mt19937 random(4711);
  std::vector<std::pair<std::uint32_t, UnwindTable>> held;
  std::size_t bytes = 0;
  for (int round = 0; round < 3000; ++round) {
    UnwindTable table =
        made_up_table(1 + random() % 20, 1 + random() % 400, static_cast<std::uint16_t>(round));
    table.rules.resize(1 + random() % 8000);
    bytes += table.rows.size() * 4;
    held.emplace_back(own.add(table), std::move(table));
    while (held.size() > 20 || (!held.empty() && random() % 3 == 0)) {
      const std::size_t which = random() % held.size();
      bytes -= held[which].second.rows.size() * 4;
      own.tables->remove(held[which].first);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
    REQUIRE(own.tables->row_bytes() == bytes);
  }
  // No table has taken another's place.
  for (const auto& [number, table] : held) {
    const ls_unwind_module module = module_of(*own.object, number);
    REQUIRE(module.page_count == table.pages.size());
    const auto begin = table.rows.end() - table.pages.back().count;
    CHECK(rows_of(*own.object, module, module.page_count - 1) ==
          std::vector<std::uint32_t>(begin, table.rows.end()));
  }
}

TEST_CASE("unwind tables: counts that no file of ours has are refused whole") {
  Tables own(8 * kOneMap);
  UnwindTable table = made_up_table(1, 1, 1);
  ErrorCode code = ErrorCode::kMalformed;  // no other table is evicted for it
  SECTION("no page") { table.pages.clear(); }
  SECTION("no rule") { table.rules.clear(); }
  SECTION("a page without rows") { table.pages.push_back({0, 0}); }
  SECTION("a page with more rows than a block") {
    table = made_up_table(2, LS_UNWIND_BLOCK_ROWS + 1, 1);
  }
  SECTION("more pages than there are") {
    table.pages.resize(LS_UNWIND_MAX_PAGES + 1, table.pages[0]);
    code = ErrorCode::kLimit;
  }
  SECTION("more rules than there are") {
    table.rules.resize(LS_UNWIND_RULES_ROOM + 1);
    code = ErrorCode::kLimit;
  }
  own.refused(table, code);
  // The refused table has taken no number, page or rule: there is as much room as before.
  UnwindTable largest = made_up_table(1, 1, 1);
  largest.pages.resize(LS_UNWIND_MAX_PAGES, largest.pages[0]);
  largest.rules.resize(LS_UNWIND_RULES_ROOM);
  own.add(largest);
}

TEST_CASE("unwind tables: there are 8,192 files at a time, and the next one has no number") {
  Tables own;
  const UnwindTable table = made_up_table(1, 1, 1);
  for (std::uint32_t i = 0; i < LS_UNWIND_MAX_MODULES; ++i) REQUIRE(own.tables->add(table));
  CHECK_THAT(own.refused(table), Catch::Matchers::Contains("files"));
  own.tables->remove(17);
  CHECK(own.add(table) == 17);
}

TEST_CASE(
    "unwind tables: a list that was removed has no owner, even before its room is used again") {
  Tables own;
  std::vector<ls_unwind_mapping> mappings(10, ls_unwind_mapping{1, 2, 1, LS_UNWIND_NO_FILE, 0});
  auto first = own.tables->add_list(mappings);
  REQUIRE(first);
  REQUIRE(own.tables->set_process(kPid, *first));
  CHECK(mappings_of(*own.object, *list_of(*own.object, kPid)).size() == 10);
  own.tables->remove_list(*first);
  CHECK(mappings_of(*own.object, *list_of(*own.object, kPid)).empty());
  auto second = own.tables->add_list(mappings);
  REQUIRE(second);
  // The second list is in the same room. A process that still has the old list does not take it for
  // its own.
  REQUIRE(second->first == first->first);
  CHECK(mappings_of(*own.object, *first).empty());
  own.tables->remove_process(kPid);
  CHECK_FALSE(list_of(*own.object, kPid));
}

TEST_CASE("unwind tables: lists that have no room are refused, an empty one takes none") {
  Tables own;
  std::vector<ls_unwind_mapping> most(LS_UNWIND_MAX_MAPPINGS);
  std::vector<ls_unwind_process> lists;
  for (;;) {
    auto list = own.tables->add_list(most);
    if (!list) {
      CHECK(list.error().code == ErrorCode::kLimit);
      break;
    }
    lists.push_back(*list);
  }
  CHECK(lists.size() == LS_UNWIND_MAPPINGS_ROOM / LS_UNWIND_MAX_MAPPINGS);
  auto empty = own.tables->add_list({});
  REQUIRE(empty);
  CHECK(empty->count == 0);
  own.tables->remove_list(*empty);
  own.tables->remove_list(lists[3]);
  CHECK(own.tables->add_list(most));
}
