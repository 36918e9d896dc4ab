// take_call_frames() has checked the lengths of the entries. Everything else in them may be wrong.
#include "unwind_table/frame_instructions.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

namespace labelscope {
namespace {

// These are call frame instructions (DWARF 5, 6.4.2). For most it is enough to skip their operands.
constexpr std::uint8_t kNop = 0x00;
constexpr std::uint8_t kSetLocation = 0x01;
constexpr std::uint8_t kNegateWithPc = 0x2c;
constexpr std::uint8_t kNegate = 0x2d;
constexpr std::uint8_t kRemember = 0x0a;
constexpr std::uint8_t kRestore = 0x0b;
constexpr std::uint8_t kInvalid = 0x3f;  // DW_CFA_hi_user, which has no meaning
constexpr std::uint8_t kInvalidVersion = 0xff;

// The highest number that a processor has: aarch64's z31 has 127, x86-64's last one 125.
constexpr std::uint64_t kMostRegister = 127;
// Compilers nest two or three of them.
constexpr int kMostRememberedStates = 64;

// What a common entry (CIE) defines for the entries that refer to it.
struct Shared {
  std::size_t pointer_size = 0;  // of addresses in the entries
  bool augmented = false;        // true if they have data of their own in front of the instructions
};

class Reader {
 public:
  explicit Reader(std::span<std::byte> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return !ok_ || at_ == bytes_.size(); }
  std::span<std::byte> rest() const { return ok_ ? bytes_.subspan(at_) : std::span<std::byte>(); }

  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)); }
  std::uint64_t number() {  // unsigned LEB128
    std::uint64_t value = 0;
    for (unsigned shift = 0; ok_; shift += 7) {
      const std::uint8_t part = byte();
      if (shift < 64) value |= std::uint64_t{part & 0x7FU} << shift;
      if ((part & 0x80) == 0) break;
    }
    return value;
  }
  std::string_view string() {
    const auto left = rest();
    const auto* text = reinterpret_cast<const char*>(left.data());
    const std::size_t length = left.empty() ? 0 : ::strnlen(text, left.size());
    skip(length + 1);
    return ok_ ? std::string_view(text, length) : std::string_view();
  }
  void skip(std::uint64_t size) {
    ok_ = ok_ && size <= bytes_.size() - at_;
    if (ok_) at_ += size;
  }
  // Changes the byte that was read last.
  void overwrite(std::uint8_t value) { bytes_[at_ - 1] = std::byte{value}; }

 private:
  unsigned take(std::size_t size) {
    skip(size);
    return ok_ ? std::to_integer<unsigned>(bytes_[at_ - 1]) : 0;
  }

  std::span<std::byte> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

// Returns the number of bytes of a DW_EH_PE_ encoding; 0 if it is not fixed.
std::size_t encoded_size(std::uint8_t encoding) {
  switch (encoding & 0x07) {
    case 0x00:
    case 0x04:
      return 8;
    case 0x02:
      return 2;
    case 0x03:
      return 4;
    default:
      return 0;
  }
}

// Skips the operands of one instruction. Returns false if the instruction is unknown, or names a
// register that no processor has.
bool skip_operands(Reader& reader, std::uint8_t instruction, std::size_t pointer_size) {
  if (instruction >> 6 == 2) reader.number();  // offset; the others are advance_loc and restore
  if (instruction >> 6 != 0) return true;
  switch (instruction) {
    case kNop:
    case kRemember:
    case kRestore:
    case kNegateWithPc:
    case kNegate:
      return true;
    case kSetLocation:
      reader.skip(pointer_size);
      return pointer_size != 0;
    case 0x02:  // advance_loc1, 2, 4
    case 0x03:
    case 0x04:
      reader.skip(std::size_t{1} << (instruction - 0x02));
      return true;
    case 0x0e:  // def_cfa_offset (_sf)
    case 0x13:
    case 0x2e:  // GNU_args_size
      reader.number();
      return true;
    case 0x06:  // restore_extended, undefined, same_value, def_cfa_register
    case 0x07:
    case 0x08:
    case 0x0d:
      return reader.number() <= kMostRegister;
    case 0x05:  // offset_extended (_sf), register, def_cfa (_sf), val_offset (_sf)
    case 0x09:
    case 0x0c:
    case 0x11:
    case 0x12:
    case 0x14:
    case 0x15:
    case 0x2f: {  // GNU_negative_offset_extended
      const bool is_register = reader.number() <= kMostRegister;
      reader.number();
      return is_register;
    }
    case 0x10:  // expression, val_expression
    case 0x16: {
      const bool is_register = reader.number() <= kMostRegister;
      reader.skip(reader.number());
      return is_register;
    }
    case 0x0f:  // def_cfa_expression
      reader.skip(reader.number());
      return true;
    default:
      return false;
  }
}

void limit_one(Reader instructions, std::size_t pointer_size, bool hide_signatures) {
  int remembered = 0;
  while (!instructions.at_end()) {
    const std::uint8_t instruction = instructions.byte();
    Reader here = instructions;
    if (instruction == kRemember) ++remembered;
    if (instruction == kRestore) --remembered;
    const bool known = skip_operands(instructions, instruction, pointer_size);
    if (!known || remembered > kMostRememberedStates) return here.overwrite(kInvalid);
    if (hide_signatures && (instruction == kNegate || instruction == kNegateWithPc)) {
      here.overwrite(kNop);
    }
  }
}

// Reads a CIE up to its instructions.
std::optional<Shared> read_shared(Reader& reader) {
  constexpr std::uint8_t kWithAddressSize = 4;
  Shared shared{8, false};
  const std::uint8_t version = reader.byte();
  std::string_view augmentation = reader.string();
  if (version >= kWithAddressSize) reader.skip(2);
  reader.number();                                        // code alignment
  reader.number();                                        // data alignment
  version == 1 ? reader.skip(1) : void(reader.number());  // the return address's register
  if (!augmentation.starts_with('z'))
    return reader.ok() && augmentation.empty() ? std::optional(shared) : std::nullopt;
  shared.augmented = true;
  const std::uint64_t size = reader.number();
  bool known = true;
  Reader data(reader.rest().first(std::min<std::uint64_t>(size, reader.rest().size())));
  reader.skip(size);
  for (char letter : augmentation.substr(1)) {
    if (letter == 'R') {
      shared.pointer_size = encoded_size(data.byte());
    } else if (letter == 'L') {
      data.byte();
    } else if (letter == 'P') {
      const std::size_t pointer = encoded_size(data.byte());
      data.skip(pointer);
      known = known && pointer != 0;
    } else {
      known = known && (letter == 'S' || letter == 'B' || letter == 'G');
    }
  }
  known = known && shared.pointer_size != 0;
  return reader.ok() && data.ok() && known ? std::optional(shared) : std::nullopt;
}

}  // namespace

void limit_instructions(std::span<std::byte> entries, CallFrameKind kind, Machine machine) {
  const bool eh = kind == CallFrameKind::kEhFrame;
  const bool hide = machine == Machine::kAarch64;
  std::map<std::uint64_t, Shared> all_shared;  // by offset
  std::uint64_t at = 0;
  std::uint32_t head[2];  // length, and what the entry refers to
  while (entries.size() - at >= sizeof head) {
    std::memcpy(head, entries.data() + at, sizeof head);
    const std::uint64_t body = at + sizeof head[0];
    if (head[0] < sizeof head[1] || head[0] > entries.size() - body) return;
    Reader reader(entries.subspan(body + sizeof head[1], head[0] - sizeof head[1]));
    if (head[1] == (eh ? 0 : kDebugFrameCie)) {
      Reader version = reader;
      if (const auto shared = read_shared(reader)) {
        all_shared[at] = *shared;
        limit_one(Reader(reader.rest()), shared->pointer_size, hide);
      } else if (!version.at_end()) {
        version.byte();
        version.overwrite(kInvalidVersion);
      }
    } else if (auto known = all_shared.find(eh ? body - head[1] : head[1]);
               known != all_shared.end()) {
      reader.skip(2 * known->second.pointer_size);
      if (known->second.augmented) reader.skip(reader.number());
      if (reader.ok()) limit_one(Reader(reader.rest()), known->second.pointer_size, hide);
    }
    at = body + head[0];
  }
}

}  // namespace labelscope
