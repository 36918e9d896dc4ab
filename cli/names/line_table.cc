// A table is a program for a machine with one row of registers: its instructions move the address
// and the line forward, and emit rows. All of it is foreign: each row, file and folder is paid for.
#include "cli/names/line_table.h"

#include <dwarf.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "cli/names/debug_bytes.h"
#include "cli/names/dwarf_names.h"

namespace labelscope::cli {
namespace {

constexpr std::uint32_t kEnd = UINT32_MAX;  // the file of a row that ends a sequence
// Each description of a table's files has a handful.
constexpr std::size_t kMostFields = 64;

std::string_view text_at(std::span<const std::byte> section, std::uint64_t offset) {
  if (offset >= section.size()) return {};
  return DebugBytes(section.subspan(static_cast<std::size_t>(offset))).text();
}

}  // namespace

class LineTable::Reader {
 public:
  Reader(LineTable& table, const LineSections& sections, Budget& budget)
      : table_(table), sections_(sections), budget_(budget) {}

  void read(std::uint64_t offset, std::string_view folder);

 private:
  struct Field {
    std::uint64_t content = 0;
    std::uint64_t form = 0;
  };
  // The state of the machine, as a sequence begins.
  struct State {
    Address address = 0;
    std::uint64_t operation = 0;  // of those of one instruction, on VLIW machines
    std::uint32_t file = 1;
    std::uint32_t line = 1;
  };
  DebugBytes read_header(DebugBytes bytes, std::string_view folder);
  void read_old_names(DebugBytes& bytes, std::string_view folder);
  void read_names(DebugBytes& bytes);
  bool read_descriptions(DebugBytes& bytes, std::vector<Field>& fields);
  bool read_field(DebugBytes& bytes, const Field& field, File& file);
  void run(DebugBytes bytes);
  bool run_extended(DebugBytes& bytes);
  bool run_standard(DebugBytes& bytes, unsigned opcode);
  void advance(std::uint64_t operations);
  bool emit(bool ends);
  void sort();

  LineTable& table_;
  const LineSections& sections_;
  Budget& budget_;
  bool wide_ = false;
  std::uint64_t version_ = 0;
  std::uint64_t least_instruction_ = 1;
  std::uint64_t most_operations_ = 1;
  int line_base_ = 0;
  unsigned line_range_ = 1;
  unsigned first_special_ = 1;
  std::array<std::uint8_t, 256> operands_{};
  State state_;
  bool goes_back_ = false;    // its addresses do, so rows will be sorted
  std::size_t sequence_ = 0;  // where the rows of this sequence begin
};

void LineTable::Reader::read(std::uint64_t offset, std::string_view folder) {
  if (offset >= sections_.lines.size()) return;
  run(read_header(DebugBytes(sections_.lines.subspan(static_cast<std::size_t>(offset))), folder));
  sort();
}

// Returns the instructions, which lie behind the header.
DebugBytes LineTable::Reader::read_header(DebugBytes bytes, std::string_view folder) {
  std::uint64_t length = bytes.number(4);
  wide_ = length == 0xFFFFFFFF;
  if (wide_) length = bytes.number(8);
  bytes.cut(length);
  version_ = bytes.number(2);
  if (version_ < 2 || version_ > 5) return DebugBytes({});
  if (version_ >= 5) bytes.skip(2);  // sizes of addresses and segments
  const std::uint64_t header = bytes.number(wide_ ? 8 : 4);
  DebugBytes program = bytes;
  program.skip(header);
  bytes.cut(header);
  least_instruction_ = bytes.byte();
  if (version_ >= 4) most_operations_ = std::max<std::uint64_t>(bytes.byte(), 1);
  bytes.byte();  // whether rows begin statements
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): it is a signed byte
  line_base_ = static_cast<std::int8_t>(bytes.byte());
  line_range_ = bytes.byte();
  first_special_ = bytes.byte();
  for (unsigned i = 1; i < first_special_; ++i) operands_[i] = bytes.byte();
  if (version_ >= 5) {
    read_names(bytes);
  } else {
    read_old_names(bytes, folder);
  }
  return program;
}

// Folder 0 is that of the unit, and files count from 1.
void LineTable::Reader::read_old_names(DebugBytes& bytes, std::string_view folder) {
  table_.folders_.push_back(folder);
  while (!bytes.empty() && budget_.spend(Cost::kEntries)) {
    const std::string_view name = bytes.text();
    if (name.empty()) break;
    table_.folders_.push_back(name);
  }
  table_.files_.emplace_back();
  while (!bytes.empty() && budget_.spend(Cost::kEntries)) {
    File file{bytes.text(), 0};
    if (file.name.empty()) break;
    file.folder = bytes.leb();
    bytes.leb();  // the time of its last change, and its size
    bytes.leb();
    table_.files_.push_back(file);
  }
}

bool LineTable::Reader::read_descriptions(DebugBytes& bytes, std::vector<Field>& fields) {
  fields.clear();
  const std::size_t count = bytes.byte();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t content = bytes.leb();
    fields.push_back({content, bytes.leb()});
  }
  return count != 0 && count <= kMostFields;
}

// Returns false if the size of the field is not known.
bool LineTable::Reader::read_field(DebugBytes& bytes, const Field& field, File& file) {
  std::string_view text;
  std::uint64_t number = 0;
  switch (field.form) {
    case DW_FORM_string:
      text = bytes.text();
      break;
    case DW_FORM_line_strp:
      text = text_at(sections_.text_of_lines, bytes.number(wide_ ? 8 : 4));
      break;
    case DW_FORM_strp:
      text = text_at(sections_.text, bytes.number(wide_ ? 8 : 4));
      break;
    case DW_FORM_udata:
      number = bytes.leb();
      break;
    case DW_FORM_data1:
      number = bytes.number(1);
      break;
    case DW_FORM_data2:
      number = bytes.number(2);
      break;
    case DW_FORM_data4:
      number = bytes.number(4);
      break;
    case DW_FORM_data8:
      number = bytes.number(8);
      break;
    case DW_FORM_data16:
      bytes.skip(16);
      break;
    case DW_FORM_block:
      bytes.skip(bytes.leb());
      break;
    default:
      return false;
  }
  if (field.content == DW_LNCT_path) file.name = text;
  if (field.content == DW_LNCT_directory_index) file.folder = number;
  return true;
}

void LineTable::Reader::read_names(DebugBytes& bytes) {
  std::vector<Field> fields;
  for (const bool folders : {true, false}) {
    if (!read_descriptions(bytes, fields) && !bytes.empty()) {
      if (bytes.leb() != 0) return;
      continue;
    }
    const std::uint64_t count = bytes.leb();
    for (std::uint64_t i = 0; i < count && !bytes.empty(); ++i) {
      File file;
      if (!budget_.spend(Cost::kEntries)) return;
      for (const Field& field : fields) {
        if (!read_field(bytes, field, file)) return;
      }
      if (folders) {
        table_.folders_.push_back(file.name);
      } else {
        table_.files_.push_back(file);
      }
    }
  }
}

void LineTable::Reader::advance(std::uint64_t operations) {
  if (most_operations_ == 1) {
    state_.address += least_instruction_ * operations;
    return;
  }
  state_.address += least_instruction_ * ((state_.operation + operations) / most_operations_);
  state_.operation = (state_.operation + operations) % most_operations_;
}

// Returns false if the budget is spent.
bool LineTable::Reader::emit(bool ends) {
  std::vector<Row>& rows = table_.rows_;
  if (!budget_.spend(Cost::kRows)) return false;
  const Row row{state_.address, ends ? Place{kEnd, 0} : Place{state_.file, state_.line}};
  const bool first = rows.size() == sequence_;
  if (first) goes_back_ = false;
  if (!first && row.address < rows.back().address) goes_back_ = true;
  // Of two rows for one address the last one counts.
  if (!first && rows.back().address == row.address && !ends) {
    rows.back().place = row.place;
    return true;
  }
  const bool same = !first && !goes_back_ && rows.back().place.file == row.place.file &&
                    rows.back().place.line == row.place.line;
  if (same) return true;
  if (rows.size() >= budget_.rows_at_once()) {
    return budget_.spend(Cost::kRows, rows.size() + 1);  // this is refused, for that reason
  }
  rows.push_back(row);
  return true;
}

// Returns false if the table ends here.
bool LineTable::Reader::run_extended(DebugBytes& bytes) {
  const std::uint64_t size = bytes.leb();
  DebugBytes operands = bytes;
  operands.cut(size);
  bytes.skip(size);
  switch (operands.byte()) {
    case DW_LNE_end_sequence: {
      if (size == 0) return true;
      if (!emit(true)) return false;
      // Functions that the linker threw away begin at zero.
      if (table_.rows_[sequence_].address == 0) table_.rows_.resize(sequence_);
      sequence_ = table_.rows_.size();
      state_ = State();
      return true;
    }
    case DW_LNE_set_address:
      state_.address = operands.number(operands.size());
      state_.operation = 0;
      return true;
    case DW_LNE_define_file: {
      File file{operands.text(), 0};
      file.folder = operands.leb();
      if (!budget_.spend(Cost::kEntries)) return false;
      table_.files_.push_back(file);
      return true;
    }
    default:
      return true;
  }
}

bool LineTable::Reader::run_standard(DebugBytes& bytes, unsigned opcode) {
  switch (opcode) {
    case DW_LNS_copy:
      return emit(false);
    case DW_LNS_advance_pc:
      advance(bytes.leb());
      return true;
    case DW_LNS_advance_line:
      state_.line += static_cast<std::uint32_t>(bytes.signed_leb());
      return true;
    case DW_LNS_set_file:
      state_.file = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes.leb(), kEnd - 1));
      return true;
    case DW_LNS_const_add_pc:
      if (line_range_ == 0) return false;
      advance((255 - first_special_) / line_range_);
      return true;
    case DW_LNS_fixed_advance_pc:
      state_.address += bytes.number(2);
      state_.operation = 0;
      return true;
    default:
      for (unsigned i = 0; i < operands_[opcode]; ++i) bytes.leb();
      return true;
  }
}

void LineTable::Reader::run(DebugBytes bytes) {
  while (!bytes.empty()) {
    const unsigned opcode = bytes.byte();
    bool goes_on = true;
    if (opcode >= first_special_) {
      if (line_range_ == 0) break;
      const unsigned moved = opcode - first_special_;
      advance(moved / line_range_);
      state_.line += static_cast<std::uint32_t>(line_base_ + static_cast<int>(moved % line_range_));
      goes_on = emit(false);
    } else if (opcode == 0) {
      goes_on = run_extended(bytes);
    } else {
      goes_on = run_standard(bytes, opcode);
    }
    if (!goes_on) break;
  }
  // A sequence without an end would reach up to the next one.
  table_.rows_.resize(sequence_);
}

// Where one sequence ends and another begins, the one that begins counts.
void LineTable::Reader::sort() {
  const auto before = [](const Row& left, const Row& right) {
    return left.address != right.address ? left.address < right.address
                                         : left.ends() && !right.ends();
  };
  std::vector<Row>& rows = table_.rows_;
  if (!std::is_sorted(rows.begin(), rows.end(), before)) {
    std::stable_sort(rows.begin(), rows.end(), before);
  }
  rows.shrink_to_fit();
}

LineTable::LineTable(const LineSections& sections, std::uint64_t offset, std::string_view folder,
                     Budget& budget) {
  Reader(*this, sections, budget).read(offset, folder);
}

const LineTable::Place* LineTable::find(Address address) const {
  const auto after =
      std::upper_bound(rows_.begin(), rows_.end(), address,
                       [](Address wanted, const Row& row) { return wanted < row.address; });
  if (after == rows_.begin() || std::prev(after)->ends()) return nullptr;
  return &std::prev(after)->place;
}

// Folder 0 is where the unit was compiled, and the others may start there, as in a build outside of
// the tree of sources.
std::string LineTable::folder(std::size_t number) const {
  const std::string_view name = folders_[number].substr(0, kMaxDwarfText);
  std::string path;
  if (number != 0 && !name.starts_with('/')) {
    path = folders_[0].substr(0, kMaxDwarfText);
    if (!path.empty() && !name.empty()) path += '/';
  }
  return path.append(name);
}

std::string LineTable::file(std::uint64_t number) const {
  if (number >= files_.size()) return {};
  const File& file = files_[static_cast<std::size_t>(number)];
  std::string path;
  if (!file.name.starts_with('/') && file.folder < folders_.size()) {
    path = this->folder(static_cast<std::size_t>(file.folder));
    if (!path.empty()) path += '/';
  }
  path.append(file.name.substr(0, kMaxDwarfText));
  return path.substr(0, kMaxDwarfText);
}

std::size_t LineTable::bytes() const {
  return rows_.capacity() * sizeof(Row) + folders_.capacity() * sizeof(std::string_view) +
         files_.capacity() * sizeof(File);
}

}  // namespace labelscope::cli
