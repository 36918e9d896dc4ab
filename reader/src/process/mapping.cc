// This parses /proc/PID/maps, whose lines (proc(5)) are
// "start-end perms offset major:minor inode   path".
#include "labelscope/mapping.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

#include "process/maps_parser.h"
#include "process/proc_fs.h"

namespace labelscope {
namespace {

class LineParser {
 public:
  explicit LineParser(std::string_view text) : rest_(text) {}

  std::optional<std::uint64_t> number(int base) {
    std::uint64_t value = 0;
    const char* end = rest_.data() + rest_.size();
    auto [after, error] = std::from_chars(rest_.data(), end, value, base);
    if (error != std::errc{} || after == rest_.data()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(after - rest_.data()));
    return value;
  }
  bool literal(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view take(std::size_t count) {
    std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

bool possible_permissions(std::string_view text) {
  constexpr std::string_view kLetters[] = {"r-", "w-", "x-", "sp"};
  if (text.size() != std::size(kLetters)) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kLetters[i].find(text[i]) == std::string_view::npos) return false;
  }
  return true;
}

std::optional<Mapping> parse_line(std::string_view line) {
  LineParser in(line);
  Mapping mapping;
  auto start = in.number(16);
  if (!start || !in.literal('-')) return std::nullopt;
  auto end = in.number(16);
  if (!end || *end <= *start || !in.literal(' ')) return std::nullopt;
  std::string_view permissions = in.take(4);
  if (!possible_permissions(permissions) || !in.literal(' ')) return std::nullopt;
  auto offset = in.number(16);
  if (!offset || !in.literal(' ')) return std::nullopt;
  auto major = in.number(16);
  if (!major || *major > UINT32_MAX || !in.literal(':')) return std::nullopt;
  auto minor = in.number(16);
  if (!minor || *minor > UINT32_MAX || !in.literal(' ')) return std::nullopt;
  auto inode = in.number(10);
  if (!inode || (!in.rest().empty() && in.rest().front() != ' ')) return std::nullopt;
  in.skip_spaces();
  mapping.start = *start;
  mapping.end = *end;
  mapping.file_offset = *offset;
  mapping.readable = permissions[0] == 'r';
  mapping.writable = permissions[1] == 'w';
  mapping.executable = permissions[2] == 'x';
  mapping.file = {static_cast<std::uint32_t>(*major), static_cast<std::uint32_t>(*minor), *inode};
  mapping.path = in.rest();
  return mapping;
}

}  // namespace

Status MapsParser::take_line(std::string_view line) {
  ++lines_;
  auto mapping = parse_line(line);
  if (!mapping) {
    return Error{ErrorCode::kMalformed,
                 "line " + std::to_string(lines_) + " is no line of a maps file"};
  }
  if (!is_kept_ || is_kept_(*mapping)) mappings_.push_back(*std::move(mapping));
  return {};
}

Status MapsParser::add(std::string_view piece) {
  for (;;) {
    const std::size_t end = piece.find('\n');
    if (end == std::string_view::npos) {
      begun_ += piece;
      return {};
    }
    std::string_view line = piece.substr(0, end);
    if (!begun_.empty()) line = begun_ += line;
    if (Status status = take_line(line); !status) return status;
    begun_.clear();
    piece.remove_prefix(end + 1);
  }
}

Result<std::vector<Mapping>> MapsParser::finish() {
  if (!begun_.empty()) {
    if (Status status = take_line(begun_); !status) return std::move(status).error();
  }
  return std::move(mappings_);
}

Result<std::vector<Mapping>> parse_maps(std::string_view text) {
  MapsParser parser;
  if (Status status = parser.add(text); !status) return std::move(status).error();
  return parser.finish();
}

Result<std::vector<Mapping>> read_maps(const std::string& path, MapsParser::IsKept is_kept) {
  MapsParser parser(std::move(is_kept));
  Status status = read_proc_pieces(path, [&](std::string_view piece) { return parser.add(piece); });
  if (!status) return std::move(status).error();
  return parser.finish();
}

const Mapping* find_mapping(const std::vector<Mapping>& mappings, Address address) {
  auto after = std::ranges::upper_bound(mappings, address, {}, &Mapping::start);
  if (after == mappings.begin()) return nullptr;
  const Mapping& candidate = *std::prev(after);
  return address < candidate.end ? &candidate : nullptr;
}

}  // namespace labelscope
