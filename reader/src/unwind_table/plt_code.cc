// On x86-64 an entry jumps to the function; before the function is known, it pushes its number and
// jumps to the header, which pushes one thing more and jumps to the loader. `|` is where the stack
// changes:
//
//   lazy        jmp *slot; push $n | jmp header                   GNU ld, lld
//   IBT, lazy   endbr64; push $n | [bnd] jmp header               lld
//   IBT         endbr64; [bnd] jmp *slot; padding                 lld's .plt.sec, mold's .plt.got
//   bound       jmp *slot; padding                                .plt.got
//   mold        endbr64; mov $n, %r11d; jmp *slot
//   header      push linkmap | jmp *loader                        GNU ld, lld
//               endbr64; push %r11 | push linkmap; jmp *loader    mold
//
// On aarch64 entries are jumps that change neither the stack nor x29 and x30:
//
//   [bti c]; adrp x16, page; ldr x17, [x16, #n]; add x16, x16, #n; br x17; [nop; nop]
#include "unwind_table/plt_code.h"

#include <array>
#include <cstring>
#include <span>

#include "unwind_table/frame_rules.h"

namespace labelscope {
namespace {

// Entries of x86-64 begin at multiples of this, and bound entries at multiples of half of it.
constexpr std::uint64_t kPltAlign = 16;

// `push` is where in the entry the stack has grown by a word; `pushed` is what was pushed before.
constexpr ls_unwind_rule rule_of_push(std::int32_t pushed, std::int8_t push) {
  ls_unwind_rule rule{};
  rule.cfa = LS_CFA_PLT;
  rule.operand = push;
  rule.cfa_offset = 8 + pushed;
  rule.ra = LS_RA_AT_CFA;
  rule.ra_offset = -8;
  return rule;
}

constexpr unsigned value_of(char digit) {
  return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

// The bytes of an entry, as two words, and which of them count.
struct Form {
  // `text` has hexadecimal digits, and "??" for any byte.
  constexpr Form(std::string_view text, std::uint64_t aligned, PltEntry made)
      : size(text.size() / 2), align(aligned), entry(made) {
    for (std::size_t i = 0; i < size; ++i) {
      if (text[2 * i] == '?') continue;
      const std::uint64_t byte = value_of(text[2 * i]) << 4 | value_of(text[2 * i + 1]);
      bytes[i / 8] |= byte << (i % 8 * 8);
      mask[i / 8] |= std::uint64_t{0xff} << (i % 8 * 8);
    }
  }
  bool matches(std::string_view code) const {
    if (code.size() < size) return false;
    std::uint64_t words[2]{};
    std::memcpy(words, code.data(), size);
    return (words[0] & mask[0]) == bytes[0] && (words[1] & mask[1]) == bytes[1];
  }

  std::size_t size;
  std::uint64_t align;
  PltEntry entry;
  std::uint64_t bytes[2]{};  // little-endian, as the code and this processor are
  std::uint64_t mask[2]{};
};

constexpr std::array kForms{
    Form{"ff25????????68????????e9????????", kPltAlign, {16, rule_of_push(0, 11)}},
    Form{"f30f1efa68????????e9????????6690", kPltAlign, {16, rule_of_push(0, 9)}},
    Form{"f30f1efa68????????f2e9????????90", kPltAlign, {16, rule_of_push(0, 9)}},
    Form{"f30f1efaff25????????660f1f440000", kPltAlign, {16, kOnlyReturnAddress}},
    Form{"f30f1efaf2ff25????????0f1f440000", kPltAlign, {16, kOnlyReturnAddress}},
    Form{"f30f1efaff25????????cccccccccccc", kPltAlign, {16, kOnlyReturnAddress}},
    Form{"f30f1efa41bb????????ff25????????", kPltAlign, {16, kOnlyReturnAddress}},
    Form{"ff25????????6690", kPltAlign / 2, {8, kOnlyReturnAddress}},
    Form{"ff35????????ff25????????0f1f4000", kPltAlign, {16, rule_of_push(8, 6)}},
    // The last instruction has a third state of the stack, and a file has it only once, so it is
    // not described.
    Form{"f30f1efa4153ff35????????ff25????", kPltAlign, {12, rule_of_push(0, 6)}},
};

// All code that nothing describes is looked at here, and hardly any of it begins like an entry.
PltEntry find_x86_entry(std::string_view code, std::uint64_t address) {
  if (code.empty() || (code[0] != '\xff' && code[0] != '\xf3')) return {};
  for (const Form& form : kForms) {
    if (address % form.align == 0 && form.matches(code)) return form.entry;
  }
  return {};
}

PltEntry find_arm_entry(std::string_view code) {
  constexpr std::uint32_t kMarker = 0xd503245f;
  constexpr std::uint32_t kNopWord = 0xd503201f;
  struct Wanted {
    std::uint32_t mask;
    std::uint32_t value;
  };
  constexpr std::array<Wanted, 4> kEntry{{{0x9f00001f, 0x90000010},
                                          {0xffc003ff, 0xf9400211},
                                          {0xffc003ff, 0x91000210},
                                          {0xffffffff, 0xd61f0220}}};
  auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    if (at + sizeof value <= code.size()) std::memcpy(&value, code.data() + at, sizeof value);
    return value;
  };
  std::size_t at = word(0) == kMarker ? 4 : 0;
  for (const Wanted& wanted : kEntry) {
    if ((word(at) & wanted.mask) != wanted.value) return {};
    at += 4;
  }
  while (at < 24 && word(at) == kNopWord) at += 4;
  return {at, kLinkRegister};
}

}  // namespace

PltEntry find_plt_entry(std::string_view code, std::uint64_t address, Machine machine) {
  return machine == Machine::kX86_64 ? find_x86_entry(code, address) : find_arm_entry(code);
}

}  // namespace labelscope
