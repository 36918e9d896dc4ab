// kallsyms has no sizes: a function ends where the next symbol of any type begins.
#include "cli/symbol/kernel_symbols.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "cli/host/own_process.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {
namespace {

// No kernel function is nearly as long. The last function of a module is followed by a gap, not by
// a symbol: without this bound it would name every address up to the next module.
constexpr Address kLongestFunction = Address{1} << 20;
// Smaller values are per-CPU offsets and absolute values, which are no addresses.
constexpr Address kLowestKernelAddress = Address{1} << 48;
constexpr std::size_t kMaxText = std::size_t{256} << 20;
constexpr std::size_t kMaxName = UINT16_MAX;

constexpr std::string_view kHidden =
    "the kernel hides its addresses: run as root or with CAP_SYSLOG, or set "
    "sysctl kernel.kptr_restrict=0";

bool is_text(char type) { return type == 't' || type == 'T' || type == 'w' || type == 'W'; }

// Ranks several names of one address: the best is global and has the fewest underscores in front.
int badness(char type, std::string_view name) {
  int bad = type == 'T' ? 0 : type == 't' ? 100 : 200;
  return bad + static_cast<int>(std::min<std::size_t>(name.find_first_not_of('_'), 99));
}

}  // namespace

bool KernelSymbols::less(const Entry& a, const Entry& b) const {
  if (a.address != b.address) return a.address < b.address;
  // Sorts functions after data, and the best function last: find() takes the last entry of an
  // address.
  if (is_text(a.type) != is_text(b.type)) return is_text(b.type);
  std::string_view name_a(text_.data() + a.name, a.name_size);
  std::string_view name_b(text_.data() + b.name, b.name_size);
  int bad_a = badness(a.type, name_a);
  int bad_b = badness(b.type, name_b);
  return bad_a != bad_b ? bad_a > bad_b : name_a > name_b;
}

// Takes "ffffffff81000000 T _stext" or "ffffffffc0000000 t ext4_map\t[ext4]".
bool KernelSymbols::add_line(std::string_view line, std::size_t offset) {
  Entry entry;
  const char* end = line.data() + line.size();
  auto [rest, problem] = std::from_chars(line.data(), end, entry.address, 16);
  if (problem != std::errc() || end - rest < 4 || rest[0] != ' ' || rest[2] != ' ') return false;
  entry.type = rest[1];
  auto name_at = static_cast<std::size_t>(rest + 3 - line.data());
  std::size_t tab = std::min(line.find('\t', name_at), line.size());
  if (tab == name_at || tab - name_at > kMaxName) return false;
  entry.name = static_cast<std::uint32_t>(offset + name_at);
  entry.name_size = static_cast<std::uint16_t>(tab - name_at);
  if (tab < line.size()) {
    std::string_view module = line.substr(tab + 1);
    if (module.size() < 3 || module.front() != '[' || module.back() != ']') return false;
    if (module.size() > kMaxName) return false;
    entry.module = static_cast<std::uint32_t>(offset + tab + 2);
    entry.module_size = static_cast<std::uint16_t>(module.size() - 2);
  }
  entries_.push_back(entry);
  return true;
}

Result<KernelSymbols> KernelSymbols::parse(std::string text) {
  if (text.size() > kMaxText) return Error{ErrorCode::kLimit, "/proc/kallsyms is impossibly long"};
  KernelSymbols symbols;
  symbols.text_ = std::move(text);
  std::string_view all = symbols.text_;
  for (std::size_t at = 0; at < all.size();) {
    std::size_t end = std::min(all.find('\n', at), all.size());
    if (end > at && !symbols.add_line(all.substr(at, end - at), at)) ++symbols.malformed_lines_;
    at = end + 1;
  }
  std::vector<Entry>& entries = symbols.entries_;
  if (entries.empty()) {
    if (all.empty()) return Error{ErrorCode::kPermission, std::string(kHidden)};
    return Error{ErrorCode::kMalformed, "no line of /proc/kallsyms has the known form"};
  }
  bool hidden =
      std::all_of(entries.begin(), entries.end(), [](const Entry& e) { return e.address == 0; });
  if (hidden) return Error{ErrorCode::kPermission, std::string(kHidden)};
  std::erase_if(entries, [](const Entry& e) { return e.address < kLowestKernelAddress; });
  std::sort(entries.begin(), entries.end(),
            [&symbols](const Entry& a, const Entry& b) { return symbols.less(a, b); });
  return symbols;
}

std::optional<KernelSymbol> KernelSymbols::find(Address address) const {
  auto after = std::upper_bound(entries_.begin(), entries_.end(), address,
                                [](Address a, const Entry& entry) { return a < entry.address; });
  if (after == entries_.begin()) return std::nullopt;
  const Entry& entry = *std::prev(after);
  if (!is_text(entry.type) || address - entry.address >= kLongestFunction) return std::nullopt;
  std::string_view text = text_;
  return KernelSymbol{text.substr(entry.name, entry.name_size),
                      text.substr(entry.module, entry.module_size)};
}

Result<std::string> read_kallsyms() {
  UniqueFd fd(::open("/proc/kallsyms", O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return system_error(errno, "cannot open /proc/kallsyms");
  std::string text;
  std::size_t size = 0;
  while (text.size() <= kMaxText) {
    // The kernel renders page by page; a larger buffer would not be filled.
    text.resize(size + 65536);
    ssize_t got = ::read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, "cannot read /proc/kallsyms");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

std::shared_future<Result<KernelSymbols>> begin_reading_kernel_symbols() {
  return std::async(std::launch::async,
                    []() -> Result<KernelSymbols> {
                      Precedence::forgo();
                      Result<std::string> text = read_kallsyms();
                      if (!text) return std::move(text).error();
                      return KernelSymbols::parse(std::move(*text));
                    })
      .share();
}

}  // namespace labelscope::cli
