// This parses /proc/PID/maps, whose lines (proc(5)) are
// "start-end perms offset major:minor inode   path".
#include "labelscope/mapping.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

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

Result<std::vector<Mapping>> parse_maps(std::string_view text) {
  std::vector<Mapping> mappings;
  std::size_t number = 0;
  while (!text.empty()) {
    std::size_t length = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    ++number;
    auto mapping = parse_line(line);
    if (!mapping) {
      return Error{ErrorCode::kMalformed,
                   "line " + std::to_string(number) + " is no line of a maps file"};
    }
    mappings.push_back(*std::move(mapping));
  }
  return mappings;
}

const Mapping* find_mapping(const std::vector<Mapping>& mappings, Address address) {
  auto after = std::ranges::upper_bound(mappings, address, {}, &Mapping::start);
  if (after == mappings.begin()) return nullptr;
  const Mapping& candidate = *std::prev(after);
  return address < candidate.end ? &candidate : nullptr;
}

}  // namespace labelscope
