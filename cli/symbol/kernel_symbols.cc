// kallsyms has no sizes: a function ends where the next symbol of any type begins.
#include "cli/symbol/kernel_symbols.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "cli/host/own_process.h"
#include "labelscope/unique_fd.h"
#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

// No kernel function is nearly as long. The last function of a module is followed by a gap, not by
// a symbol: without this bound it would name every address up to the next module.
constexpr Address kLongestFunction = Address{1} << 20;
// Smaller values are per-CPU offsets and absolute values, which are no addresses.
constexpr Address kLowestKernelAddress = Address{1} << 48;
constexpr std::size_t kMaxKernelText = std::size_t{256} << 20;
constexpr std::size_t kMaxKernelName = UINT16_MAX;
constexpr std::string_view kPadding = "__pfx_";

// Says which settings hide the addresses: kernel/ksyms_common.c looks at both.
std::string hidden() {
  std::string settings;
  if (read_proc_line("/proc/sys/kernel/kptr_restrict") != "0") settings = "kernel.kptr_restrict=0";
  const std::string paranoid = read_proc_line("/proc/sys/kernel/perf_event_paranoid");
  if (paranoid != "1" && paranoid != "0" && paranoid != "-1") {
    settings += std::string(settings.empty() ? "" : " ") + "kernel.perf_event_paranoid=1";
  }
  return "the kernel hides its addresses: run as root or with CAP_SYSLOG" +
         (settings.empty() ? "" : ", or set sysctl " + settings);
}

// The badness of a type of symbols; 0 is none of functions.
std::uint8_t badness_of(char type) {
  return type == 'T' ? 1 : type == 't' ? 2 : type == 'w' || type == 'W' ? 3 : 0;
}

}  // namespace

std::uint32_t KernelSymbols::Text::add(std::string_view name, std::string_view module) {
  if (kPiece - used_ < name.size() + module.size()) {
    pieces_.push_back(std::make_unique<char[]>(kPiece));  // NOLINT(modernize-avoid-c-arrays)
    used_ = 0;
  }
  const auto place = static_cast<std::uint32_t>((pieces_.size() - 1) * kPiece + used_);
  for (const std::string_view part : {name, module}) {
    std::copy(part.begin(), part.end(), pieces_.back().get() + used_);
    used_ += static_cast<std::uint32_t>(part.size());
  }
  return place;
}

std::string KernelSymbols::name_of(const Entry& entry) const {
  std::string name(entry.is_padding != 0 ? kPadding : std::string_view());
  return name.append(text_.at(entry.name, entry.name_size));
}

// Returns whether the entry is the padding of this function.
bool KernelSymbols::is_padding_of(const Entry& entry, std::string_view name,
                                  std::string_view module) const {
  return entry.is_padding != 0 && entry.name_size == name.size() &&
         entry.module_size == module.size() && text_.at(entry.name, name.size()) == name &&
         text_.at(static_cast<std::uint32_t>(entry.name + name.size()), module.size()) == module;
}

// Sorts functions after data, and the best function last: find() takes the last entry of an
// address. The best of several names is global and has the fewest underscores in front.
bool KernelSymbols::less(const Entry& a, const Entry& b) const {
  if (a.address != b.address) return a.address < b.address;
  if ((a.badness == 0) != (b.badness == 0)) return b.badness != 0;
  if (a.badness != b.badness) return a.badness > b.badness;
  const std::string name_a = name_of(a);
  const std::string name_b = name_of(b);
  const std::size_t underscores_a = name_a.find_first_not_of('_');
  const std::size_t underscores_b = name_b.find_first_not_of('_');
  return underscores_a != underscores_b ? underscores_a > underscores_b : name_a > name_b;
}

// Takes "ffffffff81000000 T _stext" or "ffffffffc0000000 t ext4_map\t[ext4]".
bool KernelSymbols::add_line(std::string_view line) {
  Entry entry;
  const char* end = line.data() + line.size();
  auto [rest, problem] = std::from_chars(line.data(), end, entry.address, 16);
  if (problem != std::errc() || end - rest < 4 || rest[0] != ' ' || rest[2] != ' ') return false;
  const std::string_view names = line.substr(static_cast<std::size_t>(rest + 3 - line.data()));
  std::string_view name = names.substr(0, names.find('\t'));
  std::string_view module = names.substr(std::min(name.size() + 1, names.size()));
  if (name.empty() || name.size() > kMaxKernelName) return false;
  if (name.size() < names.size()) {
    if (module.size() < 3 || module.front() != '[' || module.back() != ']') return false;
    module = module.substr(1, module.size() - 2);
    if (module.size() > UINT8_MAX) return false;
  }
  ++lines_;
  has_addresses_ |= entry.address != 0;
  if (entry.address < kLowestKernelAddress) return true;
  entry.is_padding = name.size() > kPadding.size() && name.starts_with(kPadding) ? 1 : 0;
  if (entry.is_padding != 0) name.remove_prefix(kPadding.size());
  entry.name_size = static_cast<std::uint16_t>(name.size());
  entry.module_size = static_cast<std::uint8_t>(module.size());
  entry.badness = badness_of(rest[1]);
  const bool known = !entries_.empty() && is_padding_of(entries_.back(), name, module);
  entry.name = known ? entries_.back().name : text_.add(name, module);
  entries_.push_back(entry);
  return true;
}

Status KernelSymbols::add(std::string_view piece) {
  bytes_ += piece.size();
  if (bytes_ > kMaxKernelText) return Error{ErrorCode::kLimit, "/proc/kallsyms is impossibly long"};
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    if (end == std::string_view::npos) {
      rest_ += piece;
      return {};
    }
    std::string_view line = piece.substr(0, end);
    if (!rest_.empty()) line = rest_ += line;
    if (!line.empty() && !add_line(line)) ++malformed_lines_;
    rest_.clear();
    piece.remove_prefix(end + 1);
  }
  return {};
}

Result<KernelSymbols> KernelSymbols::finish(KernelSymbols symbols) {
  if (Status last = symbols.add("\n"); !last) return std::move(last).error();
  if (symbols.lines_ == 0 && symbols.malformed_lines_ != 0) {
    return Error{ErrorCode::kMalformed, "no line of /proc/kallsyms has the known form"};
  }
  if (!symbols.has_addresses_) return Error{ErrorCode::kPermission, hidden()};
  std::sort(symbols.entries_.begin(), symbols.entries_.end(),
            [&symbols](const Entry& a, const Entry& b) { return symbols.less(a, b); });
  return symbols;
}

Result<KernelSymbols> KernelSymbols::parse(std::string_view text) {
  KernelSymbols symbols;
  if (Status added = symbols.add(text); !added) return std::move(added).error();
  return finish(std::move(symbols));
}

std::optional<KernelSymbol> KernelSymbols::find(Address address) const {
  auto after = std::upper_bound(entries_.begin(), entries_.end(), address,
                                [](Address a, const Entry& entry) { return a < entry.address; });
  if (after == entries_.begin()) return std::nullopt;
  const Entry& entry = *std::prev(after);
  if (entry.badness == 0 || address - entry.address >= kLongestFunction) return std::nullopt;
  return KernelSymbol{name_of(entry), text_.at(entry.name + entry.name_size, entry.module_size)};
}

Result<KernelSymbols> read_kernel_symbols() {
  UniqueFd fd(::open("/proc/kallsyms", O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return system_error(errno, "cannot open /proc/kallsyms");
  KernelSymbols symbols;
  // The kernel renders page by page; a larger buffer would not be filled.
  std::array<char, 65536> piece;
  for (;;) {
    const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, "cannot read /proc/kallsyms");
    if (got == 0) return KernelSymbols::finish(std::move(symbols));
    Status added = symbols.add({piece.data(), static_cast<std::size_t>(got)});
    if (!added) return std::move(added).error();
  }
}

std::shared_future<Result<KernelSymbols>> begin_reading_kernel_symbols() {
  try {
    return std::async(std::launch::async,
                      []() -> Result<KernelSymbols> {
                        Precedence::forgo();
                        return read_kernel_symbols();
                      })
        .share();
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, read_kernel_symbols).share();
  }
}

}  // namespace labelscope::cli
