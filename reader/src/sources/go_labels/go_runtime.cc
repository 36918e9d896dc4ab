// The layouts come from the runtime's sources (src/runtime/runtime2.go of each version); the build
// information is described by Go's package debug/buildinfo.
#include "sources/go_labels/go_runtime.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/aarch64_words.h"

namespace labelscope {
namespace {

constexpr std::string_view kMagic{"\xff Go buildinf:", 14};
constexpr std::size_t kHeadBytes = 32;
constexpr std::uint64_t kAlignment = 16;
constexpr std::uint8_t kBigEndian = 1;
constexpr std::uint8_t kInline = 2;  // since 1.18
constexpr std::size_t kMostVersion = 80;
// Without section headers, so much of the writable data is searched for the build information. Go's
// own linker puts it first.
constexpr std::uint64_t kMostSearched = 4ULL << 20;
// The runtime is among the first packages that a linker puts into a program. All files of a process
// are searched at each planning.
constexpr std::uint64_t kMostCode = 64UL << 20;
// At most so many places that look like the store are tried. A real program has a few hundred.
constexpr std::size_t kMostTried = 1 << 16;
constexpr std::size_t kPiece = 1 << 20;

template <class T>
T value_at(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Reads up to `most` bytes, or fewer if the file has no more.
std::string read_some(const ElfImage& image, std::uint64_t vaddr, std::size_t most) {
  std::string bytes(most, '\0');
  for (const LoadSegment& load : image.load_segments()) {
    if (vaddr < load.vaddr || vaddr - load.vaddr >= load.file_size) continue;
    bytes.resize(std::min<std::uint64_t>(most, load.file_size - (vaddr - load.vaddr)));
    if (image.read(vaddr, std::as_writable_bytes(std::span(bytes)))) return bytes;
  }
  return {};
}

// A Go string is a pointer and a length. The loader may have to fill the pointers.
std::string read_go_string(const ElfImage& image, std::uint64_t vaddr) {
  const std::string words = read_some(image, vaddr, 16);
  if (words.size() < 16) return {};
  const auto length = value_at<std::uint64_t>(words, 8);
  const auto address = image.pointer_at(vaddr);
  if (!address || length > std::numeric_limits<std::uint32_t>::max()) return {};
  return read_some(image, *address, std::min<std::uint64_t>(length, kMostVersion));
}

// Returns the version in the build information, whose head is at `vaddr`.
std::string version_at(const ElfImage& image, std::uint64_t vaddr) {
  const std::string bytes = read_some(image, vaddr, kHeadBytes + 8 + kMostVersion);
  if (bytes.size() < kHeadBytes || !std::string_view(bytes).starts_with(kMagic)) return {};
  const auto flags = static_cast<std::uint8_t>(bytes[15]);
  if ((flags & kBigEndian) != 0) return {};
  if ((flags & kInline) == 0) {
    constexpr std::uint64_t kPointer = 16;
    const auto text = image.pointer_at(vaddr + kPointer);
    return text ? read_go_string(image, *text) : std::string();
  }
  // The length has seven bits in each byte, the lowest first.
  std::uint64_t length = 0;
  std::size_t at = kHeadBytes;
  for (unsigned shift = 0; at < bytes.size() && shift < 32; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes[at++]);
    length |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return bytes.substr(at, std::min<std::uint64_t>(length, kMostVersion));
}

// Returns the link-time address of the build information.
std::optional<std::uint64_t> find_build_information(const ElfImage& image) {
  if (image.has_section_headers()) return image.section_address(".go.buildinfo");
  const auto& loads = image.load_segments();
  const auto data = std::ranges::find_if(
      loads, [](const LoadSegment& load) { return load.writable && !load.executable; });
  if (data == loads.end()) return std::nullopt;
  const std::uint64_t size = std::min(data->file_size, kMostSearched);
  for (std::uint64_t done = 0; done < size; done += kPiece) {
    const std::string piece =
        read_some(image, data->vaddr + done, std::min<std::uint64_t>(kPiece, size - done));
    for (std::size_t at = 0; at + kHeadBytes <= piece.size(); at += kAlignment) {
      if (std::string_view(piece).substr(at).starts_with(kMagic)) return data->vaddr + done + at;
    }
  }
  return std::nullopt;
}

// Calls `use(code, at)` for each place of the bytes in executable segments, with at least `before`
// bytes before and `after` bytes after it in `code`, until that returns true.
template <class Use>
Status search_code(const ElfImage& image, std::string_view bytes, std::size_t before,
                   std::size_t after, GoRuntime& go, Use use) {
  std::uint64_t left = kMostCode;
  std::size_t tried = 0;
  // The code may be in the rest, so it is unknown.
  const auto give_up = [&] {
    go.slot = GoRuntime::Slot::kUnknown;
    return Status();
  };
  for (const LoadSegment& load : image.load_segments()) {
    if (!load.executable) continue;
    const std::uint64_t size = std::min(load.file_size, left);
    left -= size;
    const bool cut = size < load.file_size;
    std::string code;
    for (std::uint64_t done = 0; done < size;) {
      const std::size_t kept = std::min(code.size(), before + bytes.size() + after);
      code.erase(0, code.size() - kept);
      const std::size_t fresh = std::min<std::uint64_t>(kPiece, size - done);
      code.resize(kept + fresh);
      Status read =
          image.read(load.vaddr + done, std::as_writable_bytes(std::span(code).subspan(kept)));
      if (!read) return read;
      const std::uint64_t start = load.vaddr + done - kept;
      done += fresh;
      for (std::size_t at = code.find(bytes, before); at != std::string::npos;
           at = code.find(bytes, at + 1)) {
        if (at + bytes.size() + after > code.size()) break;
        if (++tried > kMostTried) return give_up();
        if (!use(std::string_view(code), at, start + at)) continue;
        go.text = load.vaddr;
        go.text_size = load.memory_size;
        return {};
      }
    }
    if (cut) return give_up();
  }
  return {};
}

Status find_x86_64_slot(const ElfImage& image, GoRuntime& go) {
  using namespace std::string_view_literals;
  constexpr auto kStore = "\x64\x48\xc7"sv;       // movq to %fs:...
  constexpr auto kNumber = "\x23\x01\x00\x00"sv;  // $0x123
  constexpr auto kAbsolute = "\x04\x25"sv;        // ... the next 32 bits
  constexpr auto kThroughRbx = "\x03"sv;          // ... (%rbx)
  constexpr auto kSetRbx = "\x48\xc7\xc3"sv;      // mov $32 bits, %rbx
  constexpr auto kLoadRbx = "\x48\x8b\x1d"sv;     // mov 32 bits(%rip), %rbx
  constexpr std::size_t kRbxBytes = 7;
  constexpr std::size_t kAfter = 10;
  go.slot = GoRuntime::Slot::kNone;  // a plugin does not have this code
  return search_code(
      image, kStore, kRbxBytes, kAfter, go,
      [&](std::string_view code, std::size_t at, std::uint64_t vaddr) {
        const std::string_view operand = code.substr(at + kStore.size());
        const std::string_view rbx = code.substr(at - kRbxBytes, kRbxBytes);
        const auto displacement = value_at<std::int32_t>(rbx, 3);
        if (operand.starts_with(kAbsolute) && operand.substr(6).starts_with(kNumber)) {
          go.slot = GoRuntime::Slot::kOffset;
          go.offset = value_at<std::int32_t>(operand, 2);
        } else if (operand.starts_with(kThroughRbx) && operand.substr(1).starts_with(kNumber) &&
                   rbx.starts_with(kSetRbx)) {
          go.slot = GoRuntime::Slot::kOffset;
          go.offset = displacement;
        } else if (operand.starts_with(kThroughRbx) && operand.substr(1).starts_with(kNumber) &&
                   rbx.starts_with(kLoadRbx)) {
          go.slot = GoRuntime::Slot::kGot;
          go.got = vaddr + static_cast<std::uint64_t>(static_cast<std::int64_t>(displacement));
        } else {
          return false;
        }
        return true;
      });
}

// These are instructions of load_g(), by the bits that do not depend on an address.
constexpr std::uint32_t kMrsX0 = 0xd53bd040;  // mrs x0, tpidr_el0
constexpr std::uint32_t kLoadG = 0xf87b681c;  // ldr x28, [x0, x27]
constexpr std::uint32_t kRegister = 0x1f;
constexpr std::uint32_t kX27 = 27;

// Returns the number of bytes that the immediate of "add x, x, #n", "ldr x, [x, #n]" or "ldrb w,
// [x, #n]" adds.
std::optional<std::uint64_t> low_part(std::uint32_t word) {
  const std::uint64_t immediate = word >> 10 & 0xfff;
  switch (word >> 22) {
    case 0x244:  // add, 64 bits
    case 0x0e5:  // ldrb
    case 0x0e6:  // ldrsb to 64 bits
    case 0x0e7:  // ldrsb to 32 bits
      return immediate;
    case 0x3e5:  // ldr, 64 bits
      return immediate * 8;
    default:
      return std::nullopt;
  }
}

// This reads the bytes before the last instruction of load_g(), which is at `vaddr`.
class LoadG {
 public:
  LoadG(std::string_view before, std::uint64_t vaddr) : before_(before), vaddr_(vaddr) {}
  // Finds how load_g() gets the offset into x27: by one instruction or two, behind the one that
  // reads the thread pointer.
  bool find_offset(GoRuntime& go) {
    const std::uint32_t last = word(1);
    if ((last & kRegister) != kX27) return false;
    if (word(2) == kMrsX0 && last >> 21 == 0x694) {  // movz x27, #n
      go.offset = last >> 5 & 0xffff;
      mrs_ = 2;
    } else if (word(3) == kMrsX0 && word(2) >> 21 == 0x695 &&
               last >> 21 == 0x794) {  // movz #n, lsl 16; movk #n
      go.offset = (word(2) >> 5 & 0xffff) << 16 | (last >> 5 & 0xffff);
      mrs_ = 3;
    } else if (word(3) == kMrsX0 && a64::is_adrp(word(2)) && last >> 22 == 0x3e5) {
      go.got = a64::adrp_page(word(2), vaddr_ - 8) + *low_part(last);
      mrs_ = 3;
    } else {
      return false;
    }
    go.slot = go.got != 0 ? GoRuntime::Slot::kGot : GoRuntime::Slot::kOffset;
    return true;
  }
  // Returns the address of the flag that load_g() reads first.
  std::optional<std::uint64_t> flag() const {
    for (std::size_t at = mrs_ + 1; at <= kMostBefore; ++at) {
      if (!a64::is_adrp(word(at))) continue;
      std::uint64_t address = a64::adrp_page(word(at), vaddr_ - 4 * at);
      for (std::size_t next = at - 1; next > mrs_; --next) {
        if (const auto low = low_part(word(next))) address += *low;
      }
      return address;
    }
    return std::nullopt;
  }
  static constexpr std::size_t kMostBefore = 8;

 private:
  // Returns the instruction so many places before the last one.
  std::uint32_t word(std::size_t back) const {
    return value_at<std::uint32_t>(before_, before_.size() - 4 * back);
  }
  std::string_view before_;
  std::uint64_t vaddr_;
  std::size_t mrs_ = 0;
};

Status find_aarch64_slot(const ElfImage& image, GoRuntime& go) {
  std::array<char, 4> last{};
  std::memcpy(last.data(), &kLoadG, sizeof kLoadG);
  constexpr std::size_t kBefore = 4 * LoadG::kMostBefore;
  go.slot = GoRuntime::Slot::kNone;
  return search_code(image, {last.data(), last.size()}, kBefore, 0, go,
                     [&](std::string_view code, std::size_t at, std::uint64_t vaddr) {
                       LoadG code_of(code.substr(at - kBefore, kBefore), vaddr);
                       if (vaddr % 4 != 0 || !code_of.find_offset(go)) return false;
                       const auto flag = code_of.flag();
                       std::array<std::byte, 1> has_cgo{};
                       if (!flag || !image.read(*flag, has_cgo)) {
                         go.slot = GoRuntime::Slot::kUnknown;
                       } else if (has_cgo[0] == std::byte{0}) {
                         go.slot = GoRuntime::Slot::kRegister;
                       }
                       return true;
                     });
}

}  // namespace

unsigned go_minor_version(std::string_view version) {
  constexpr std::string_view kGo1 = "go1.";
  const std::size_t at = version.find(kGo1);
  unsigned minor = 0;
  if (at == std::string_view::npos) return 0;
  const std::string_view digits = version.substr(at + kGo1.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), minor);
  return minor;
}

std::optional<GoLayout> go_layout(unsigned minor) {
  struct Row {
    unsigned since;
    GoLayout layout;
  };
  //              m   labels procid mark
  static constexpr Row kRows[] = {{kOldestGo, {48, 344, 72, 4}}, {12, {48, 344, 72, 5}},
                                  {17, {48, 360, 72, 5}},        {21, {48, 344, 72, 5}},
                                  {23, {48, 352, 72, 5}},        {24, {48, 352, 72, 0}},
                                  {25, {48, 344, 64, 0}},        {26, {48, 352, 64, 0}}};
  if (minor < kOldestGo || minor > kNewestGo) return std::nullopt;
  const auto next = std::ranges::upper_bound(kRows, minor, {}, &Row::since);
  return std::prev(next)->layout;
}

Result<std::optional<GoRuntime>> find_go_runtime(const ElfImage& image) {
  GoRuntime go;
  if (const auto place = find_build_information(image)) {
    go.version = version_at(image, *place);
  } else if (!image.executable() || !image.has_note("Go")) {
    return std::optional<GoRuntime>();
  }
  if (go.version.empty()) {
    auto symbol = image.find_symtab_symbol("runtime.buildVersion");
    if (!symbol) return std::move(symbol).error();
    if (*symbol) go.version = read_go_string(image, (*symbol)->value);
  }
  go.minor = go_minor_version(go.version);
  return std::optional(std::move(go));
}

Status find_go_slot(const ElfImage& image, GoRuntime& go) {
  return image.machine() == Machine::kX86_64 ? find_x86_64_slot(image, go)
                                             : find_aarch64_slot(image, go);
}

}  // namespace labelscope
