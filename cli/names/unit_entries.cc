// All of this is foreign: reading ends at the end of the unit, goes only forward, and pays for each
// entry, each abbreviation and each of its attributes.
#include "cli/names/unit_entries.h"

#include <dwarf.h>

#include <algorithm>

namespace labelscope::cli {
namespace {

// DWARF before version 5 has these forms of GNU for split debug information and dwz(1).
constexpr std::uint64_t kGnuAddressIndex = 0x1f01;
constexpr std::uint64_t kGnuTextIndex = 0x1f02;
constexpr std::uint64_t kGnuAlternateReference = 0x1f20;
constexpr std::uint64_t kGnuAlternateText = 0x1f21;

// Paying for each entry alone would take as long as reading it.
constexpr unsigned kPaidAtOnce = 16;

}  // namespace

UnitEntries::UnitEntries(std::span<const std::byte> info, std::span<const std::byte> abbreviations,
                         const UnitPlace& place, Budget& budget)
    : budget_(budget), place_(place) {
  if (place.end > info.size() || place.die > place.end ||
      place.abbreviations > abbreviations.size()) {
    return;
  }
  left_ = DebugBytes(info.subspan(static_cast<std::size_t>(place.die),
                                  static_cast<std::size_t>(place.end - place.die)));
  read_kinds(abbreviations.subspan(static_cast<std::size_t>(place.abbreviations)));
}

void UnitEntries::read_kinds(std::span<const std::byte> bytes) {
  DebugBytes from(bytes);
  for (std::uint64_t code = from.leb(); code != 0; code = from.leb()) {
    if (!budget_.spend(Cost::kEntries)) return;
    Kind kind;
    kind.tag = static_cast<unsigned>(std::min<std::uint64_t>(from.leb(), UINT16_MAX));
    kind.has_children = from.byte() != 0;
    kind.first_step = static_cast<std::uint32_t>(steps_.size());
    bool known = true;
    joinable_ = 0;
    while (true) {
      const std::uint64_t name = from.leb();
      const std::uint64_t form = from.leb();
      if (form == DW_FORM_implicit_const) from.leb();
      if (name == 0 && form == 0) break;
      if (from.empty() || !budget_.spend(Cost::kEntries)) return;
      known = known && add_step(name, form);
    }
    kind.steps = static_cast<std::uint32_t>(steps_.size()) - kind.first_step;
    // An entry of unknown size is as the end of the unit.
    if (!known) continue;
    if (code == kinds_.size() + 1) {
      kinds_.push_back(kind);
    } else {
      other_kinds_.try_emplace(code, kind);
    }
  }
}

// Returns how many bytes values of a form have, if all of them have the same number.
std::optional<std::uint32_t> UnitEntries::size_of(std::uint64_t form) const {
  switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
      return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
      return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
      return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
      return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
      return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
      return 8;
    case DW_FORM_data16:
      return 16;
    case DW_FORM_addr:
      return place_.address_size;
    case DW_FORM_ref_addr:
      return place_.version == 2 ? place_.address_size : place_.offset_size;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_sec_offset:
    case kGnuAlternateReference:
    case kGnuAlternateText:
      return place_.offset_size;
    default:
      return std::nullopt;
  }
}

// Returns how values of a form are skipped that have their own size; nothing if it is not known.
std::optional<UnitEntries::Way> UnitEntries::way_of(std::uint64_t form) {
  switch (form) {
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case kGnuAddressIndex:
    case kGnuTextIndex:
      return Way::kLeb;
    case DW_FORM_string:
      return Way::kText;
    case DW_FORM_block1:
      return Way::kBlock1;
    case DW_FORM_block2:
      return Way::kBlock2;
    case DW_FORM_block4:
      return Way::kBlock4;
    case DW_FORM_block:
    case DW_FORM_exprloc:
      return Way::kBlock;
    case DW_FORM_indirect:
      return Way::kIndirect;
    default:
      return std::nullopt;
  }
}

// Returns false if nothing is known about the form.
bool UnitEntries::step_of(std::uint64_t form, Step& step) const {
  if (const auto size = size_of(form)) {
    step.way = Way::kFixed;
    step.size = *size;
    return true;
  }
  const auto way = way_of(form);
  if (way) step.way = *way;
  return way.has_value();
}

bool UnitEntries::add_step(std::uint64_t name, std::uint64_t form) {
  Step step;
  if (!step_of(form, step)) return false;
  const bool plain = step.way == Way::kFixed && step.size > 0 && step.size <= 8;
  const bool data = form == DW_FORM_data1 || form == DW_FORM_data2 || form == DW_FORM_data4 ||
                    form == DW_FORM_data8 || form == DW_FORM_udata;
  const bool reference = form == DW_FORM_ref1 || form == DW_FORM_ref2 || form == DW_FORM_ref4 ||
                         form == DW_FORM_ref8 || form == DW_FORM_ref_udata;
  if (name == DW_AT_sibling && reference) step.what = What::kSibling;
  if (name == DW_AT_ranges) step.what = What::kList;
  if (name == DW_AT_low_pc) {
    step.what = form == DW_FORM_addr && plain ? What::kStart : What::kList;
  }
  if (name == DW_AT_high_pc) {
    step.what = form == DW_FORM_addr && plain ? What::kEnd : data ? What::kSize : What::kList;
  }
  // What only has to be skipped is skipped together.
  const bool joins = !steps_.empty() && step.way == Way::kFixed && step.what == What::kNothing &&
                     joinable_ == steps_.size();
  if (joins) {
    steps_.back().size += step.size;
    return true;
  }
  steps_.push_back(step);
  joinable_ = step.way == Way::kFixed && step.what == What::kNothing ? steps_.size() : 0;
  return true;
}

const UnitEntries::Kind* UnitEntries::kind_of(std::uint64_t code) const {
  if (code - 1 < kinds_.size()) return &kinds_[static_cast<std::size_t>(code - 1)];
  const auto other = other_kinds_.find(code);
  return other == other_kinds_.end() ? nullptr : &other->second;
}

bool UnitEntries::skip(std::uint64_t size) {
  const bool is_there = size <= left_.size();
  left_.skip(size);
  return is_there;
}

// Returns 0 if not all of it is there.
std::uint64_t UnitEntries::number(std::size_t size) {
  if (size <= left_.size()) return left_.number(size);
  left_.skip(size);
  return 0;
}

// `size` is what the entry says about how long its code is.
bool UnitEntries::take(const Step& step, UnitEntry& entry, std::uint64_t& size) {
  std::uint64_t value = 0;
  switch (step.way) {
    case Way::kFixed:
      if (step.what == What::kNothing || step.what == What::kList) {
        if (step.what == What::kList) entry.has_list = true;
        return skip(step.size);
      }
      value = number(step.size);
      break;
    case Way::kLeb:
      value = left_.leb();
      break;
    case Way::kText: {
      const std::size_t most = left_.size();
      return left_.text().size() < most;
    }
    case Way::kBlock1:
      return skip(number(1));
    case Way::kBlock2:
      return skip(number(2));
    case Way::kBlock4:
      return skip(number(4));
    case Way::kBlock:
      return skip(left_.leb());
    case Way::kIndirect: {
      Step real;
      const std::uint64_t form = left_.leb();
      if (form == DW_FORM_indirect || form == DW_FORM_implicit_const || !step_of(form, real)) {
        return false;
      }
      if (step.what != What::kNothing) entry.has_list = true;
      return take(real, entry, size);
    }
  }
  switch (step.what) {
    case What::kSibling:
      entry.sibling = place_.start + value;
      break;
    case What::kStart:
      entry.start = value;
      break;
    case What::kEnd:
      entry.end = value;
      break;
    case What::kSize:
      size = value;
      break;
    case What::kList:
      entry.has_list = true;
      break;
    case What::kNothing:
      break;
  }
  return true;
}

bool UnitEntries::pay() {
  if (paid_ == 0) {
    if (!budget_.spend(Cost::kEntries, kPaidAtOnce)) return false;
    paid_ = kPaidAtOnce;
  }
  --paid_;
  return true;
}

bool UnitEntries::next(UnitEntry& entry) {
  entry = {};
  if (left_.empty() || !pay()) return false;
  entry.offset = offset();
  const std::uint64_t code = left_.leb();
  if (code == 0) return true;
  const Kind* kind = kind_of(code);
  if (kind == nullptr || kind->tag == 0) {
    left_ = DebugBytes({});
    return false;
  }
  entry.tag = kind->tag;
  entry.has_children = kind->has_children;
  std::uint64_t size = 0;
  for (const Step& step : std::span(steps_).subspan(kind->first_step, kind->steps)) {
    if (take(step, entry, size)) continue;
    left_ = DebugBytes({});
    return false;
  }
  if (size != 0 && __builtin_add_overflow(entry.start, size, &entry.end)) entry.end = 0;
  // Functions that the linker threw away keep a start of zero.
  if (entry.has_list || entry.start == 0 || entry.start >= entry.end) entry.start = entry.end = 0;
  return true;
}

// Returns false if the entry does not say where its sibling is, or something impossible.
bool UnitEntries::jump_behind(const UnitEntry& entry) {
  if (entry.sibling <= offset() || entry.sibling > place_.end) return false;
  left_.skip(entry.sibling - offset());
  return true;
}

bool UnitEntries::skip_children(const UnitEntry& entry) {
  if (!entry.has_children || jump_behind(entry)) return true;
  UnitEntry inner;
  for (std::uint64_t depth = 1; next(inner);) {
    if (inner.tag == 0) {
      if (--depth == 0) return true;
    } else if (inner.has_children && !jump_behind(inner)) {
      ++depth;
    }
  }
  return false;
}

}  // namespace labelscope::cli
