// The source line of each address of one unit (.debug_line).
//
// libdw has this, too, but makes all rows of a unit with a hundred bytes for each, sorts them by
// pointers, and keeps them until the file is closed: a program with a gigabyte of debug information
// has 17 million rows. Here a row has 16 bytes, one that says the same as the row before it is left
// out, and the owner can drop the table and read it again. Source: DWARF 5, section 6.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/names/budget.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

// Sections, unpacked and little-endian; empty if there is none. They must live as long as tables.
struct LineSections {
  std::span<const std::byte> lines;          // .debug_line
  std::span<const std::byte> text;           // .debug_str
  std::span<const std::byte> text_of_lines;  // .debug_line_str
};

class LineTable {
 public:
  LineTable() = default;
  // Reads the table at `offset` of .debug_line. `folder` is where the unit was compiled. If the
  // table contradicts itself, or the budget refuses so many rows, it has the sequences of rows
  // before that place.
  LineTable(const LineSections& sections, std::uint64_t offset, std::string_view folder,
            Budget& budget);

  struct Place {
    std::uint32_t file = 0;
    std::uint32_t line = 0;
  };
  // Returns null if the table says nothing about the address.
  const Place* find(Address address) const;
  // Returns the path of a file by its number; empty if there is none. It is cut where other text of
  // DWARF is (dwarf_names.h).
  std::string file(std::uint64_t number) const;
  std::size_t rows() const { return rows_.size(); }
  std::size_t bytes() const;

 private:
  struct Row {
    Address address = 0;
    Place place;  // no line and no file: here ends a sequence
    bool ends() const { return place.file == UINT32_MAX; }
  };
  struct File {
    std::string_view name;
    std::uint64_t folder = 0;
  };
  class Reader;
  std::string folder(std::size_t number) const;

  std::vector<Row> rows_;  // sorted
  std::vector<std::string_view> folders_;
  std::vector<File> files_;
};

}  // namespace labelscope::cli
