#include "kernel/unwind_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <array>

#include "bpf/load/loading.h"
#include "support/catch.h"
#include "support/rights.h"

namespace labelscope::test {
namespace {

template <class T>
T value_in(int map, std::uint32_t number) {
  T value{};
  REQUIRE(bpf_map_lookup_elem(map, &number, &value) == 0);
  return value;
}

// Returns a value of an array in parts (growing_array.h); zeros if its part is not there.
template <class T>
T value_in_part(const BpfObject& object, const char* name, std::uint32_t number,
                std::uint32_t values) {
  const std::uint32_t part = number / values;
  std::uint32_t map_id = 0;
  if (bpf_map_lookup_elem(map_fd(object.object(), name), &part, &map_id) != 0) return {};
  const UniqueFd map(bpf_map_get_fd_by_id(map_id));
  REQUIRE(map.valid());
  return value_in<T>(map.get(), number % values);
}

ls_unwind_mapping mapping_at(const BpfObject& object, std::uint32_t number) {
  return value_in_part<ls_unwind_mapping>(object, "unwind_mappings", number,
                                          LS_UNWIND_PART_MAPPINGS);
}

}  // namespace

std::unique_ptr<BpfObject> load_unwinder() {
  skip_without_bpf();
  SamplerOptions options;
  options.call_graph = LS_CALL_GRAPH_DWARF;
  auto object = BpfObject::load(options);
  INFO((object ? "" : object.error().context));
  REQUIRE(object);
  return *std::move(object);
}

std::optional<ls_unwind_process> list_of(const BpfObject& object, Pid pid) {
  ls_unwind_process list{};
  const int map = map_fd(object.object(), "unwind_processes");
  if (bpf_map_lookup_elem(map, &pid, &list) != 0) return std::nullopt;
  return list;
}

std::vector<ls_unwind_mapping> mappings_of(const BpfObject& object, const ls_unwind_process& list) {
  std::vector<ls_unwind_mapping> mappings;
  for (std::uint32_t i = 0; i < list.count; ++i) {
    const auto mapping = mapping_at(object, list.first + i);
    if (mapping.list == list.list) mappings.push_back(mapping);
  }
  return mappings;
}

std::size_t mappings_in_use(const BpfObject& object) {
  std::size_t count = 0;
  // Rows are given out from the first one on.
  for (std::uint32_t i = 0; i < 4096; ++i) count += mapping_at(object, i).list != 0;
  return count;
}

ls_unwind_module module_of(const BpfObject& object, std::uint32_t number) {
  return value_in<ls_unwind_module>(map_fd(object.object(), "unwind_modules"), number);
}

std::vector<std::uint32_t> rows_of(const BpfObject& object, const ls_unwind_module& module,
                                   std::uint32_t page) {
  const auto head = value_in_part<ls_unwind_page>(object, "unwind_pages", module.first_page + page,
                                                  LS_UNWIND_PART_PAGES);
  using Block = std::array<std::uint32_t, LS_UNWIND_BLOCK_ROWS>;
  const auto block =
      value_in_part<Block>(object, "unwind_blocks", head.block, LS_UNWIND_MAP_BLOCKS);
  REQUIRE(head.first + head.count <= block.size());
  return {block.begin() + head.first, block.begin() + head.first + head.count};
}

UnwindTable made_up_table(std::uint32_t pages, std::uint32_t rows, std::uint16_t mark) {
  UnwindTable table;
  for (std::uint32_t page = 0; page < pages; ++page) {
    table.pages.push_back({static_cast<std::uint32_t>(table.rows.size()), rows});
    for (std::uint32_t i = 0; i < rows; ++i) table.rows.push_back(LS_UNWIND_ROW(i, mark));
  }
  table.rules.resize(1);
  table.segments.push_back({0, 0, 1ULL << 30, 1ULL << 30, true});
  return table;
}

}  // namespace labelscope::test
