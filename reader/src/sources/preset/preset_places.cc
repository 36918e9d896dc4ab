#include "sources/preset/preset_places.h"

#include <elf.h>

#include <algorithm>
#include <array>

#include "recipe/tls_layout.h"

namespace labelscope {
namespace {

// Returns the part of a structure in which most of these fields are, and how many.
std::pair<BlockSpan, std::size_t> best_span(std::vector<std::pair<std::int64_t, unsigned>> fields) {
  std::ranges::sort(fields);
  fields.erase(std::unique(fields.begin(), fields.end()), fields.end());
  std::pair<BlockSpan, std::size_t> best{};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    BlockSpan span{fields[i].first, fields[i].first};
    std::size_t count = 0;
    for (std::size_t j = i; j < fields.size(); ++j) {
      const std::int64_t end = std::max(span.end, fields[j].first + fields[j].second);
      if (end - span.begin > LS_PRESET_BLOCK_BYTES) break;
      span.end = end;
      ++count;
    }
    if (count > best.second) best = {span, count};
  }
  return best;
}

// The way to the pointer at a place.
std::string pointer_at(const Place& from) { return "+" + std::to_string(from.offset) + "->"; }

}  // namespace

PresetBlocks choose_blocks(const PresetFields& fields) {
  std::vector<std::pair<std::size_t, std::pair<std::string, BlockSpan>>> all;
  for (const auto& [way, read] : fields) {
    const auto [span, count] = best_span(read);
    if (count >= 2) all.push_back({count, {way, span}});
  }
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (all.size() > LS_PRESET_BLOCKS) all.resize(LS_PRESET_BLOCKS);
  PresetBlocks blocks;
  for (auto& [count, one] : all) {
    one.second.block = static_cast<unsigned>(blocks.size());
    blocks.insert(std::move(one));
  }
  return blocks;
}

std::size_t PresetPlaces::add_step(unsigned op, unsigned to, unsigned from, unsigned size,
                                   std::int64_t offset, std::uint64_t value) {
  steps_.push_back({static_cast<__u8>(op), static_cast<__u8>(to), static_cast<__u8>(from),
                    static_cast<__u8>(size), static_cast<__s32>(offset), value});
  return steps_.size() - 1;
}

void PresetPlaces::say(std::size_t step, std::string words) {
  words_.emplace_back(step, std::move(words));
}

Result<std::int64_t> PresetPlaces::number(const PresetNumber& number) const {
  if (number.parameter.empty()) return number.value;
  const auto set = variant_.parameters.find(number.parameter);
  if (set == variant_.parameters.end()) return unfit("no variant sets $" + number.parameter);
  return set->second;
}
Result<std::int64_t> PresetPlaces::offset(const PresetNumber& text) const {
  auto value = number(text);
  if (value && (*value < 0 || *value > kMostPresetOffset)) {
    return unfit("the offset " + std::to_string(*value) + " is too large");
  }
  return value;
}

Result<ElfSymbol> PresetPlaces::symbol(const std::string& name) const {
  const auto found = symbols_.find(name);
  if (!found) return unfit("the file has no symbol " + name);
  return *found;
}

Result<Place> PresetPlaces::place_of_symbol(const std::string& name) {
  const auto found = symbol(name);
  if (!found) return found.error();
  Place made;
  made.way = name;
  if (found->type == STT_TLS) {
    if (!place_.is_program || !image_.tls()) {
      return unfit(name +
                   " is thread-local in a library, of which only the loader knows the place");
    }
    made.kind = Place::Kind::kThread;
    made.base = static_cast<std::uint64_t>(
        local_exec_offset(image_.machine(), *image_.tls(), found->value));
    return made;
  }
  if (found->type != STT_OBJECT && found->type != STT_NOTYPE) {
    return unfit(name + " is no variable");
  }
  uses_global_ = true;
  made.kind = Place::Kind::kAddress;
  made.base = place_.load_bias + found->value;
  return made;
}

Result<Accessor> PresetPlaces::decode(const std::string& function) const {
  const auto found = symbol(function);
  if (!found) return found.error();
  if (found->type != STT_FUNC) return unfit(function + " is no function");
  std::array<std::byte, kAccessorBytes> code{};
  // A function at the end of its segment is shorter than what is asked for.
  std::size_t size = code.size();
  while (size != 0 && !image_.read(found->value, std::span(code).first(size))) size /= 2;
  auto decoded = decode_accessor(image_.machine(), std::span(code).first(size), found->value);
  if (!decoded) return unfit(function + "() is no accessor: " + decoded.error().context);
  return decoded;
}

Result<Place> PresetPlaces::call(const std::string& function, const Place* argument,
                                 const Guards& guards) {
  const auto decoded = decode(function);
  if (!decoded) return decoded.error();
  Place at;
  if (decoded->base == Accessor::Base::kArgument) {
    if (argument == nullptr)
      return unfit(function + "() wants an argument: WAY." + function + "()");
    if (argument->size != 0 && !argument->is_result) {
      return unfit("in front of ." + function +
                   "() -> is missing: an accessor reads a pointer there");
    }
    at = *argument;
    at.offset += decoded->offsets[0];
    at.is_result = false;
    at.size = 0;
  } else {
    at.way = function + "()";
    at.kind =
        decoded->base == Accessor::Base::kThread ? Place::Kind::kThread : Place::Kind::kAddress;
    at.base = static_cast<std::uint64_t>(decoded->offsets[0]);
    if (at.kind == Place::Kind::kAddress) {
      at.base += place_.load_bias;
      uses_global_ = true;
    }
  }
  for (std::size_t i = 1; i < decoded->offsets.size(); ++i) {
    auto next = follow(at, guards);
    if (!next) return next;
    at = *std::move(next);
    at.offset += decoded->offsets[i];
  }
  at.size = decoded->size;
  at.is_result = decoded->returns_place;
  return at;
}

Result<Place> PresetPlaces::follow(const Place& from, const Guards& guards) {
  if (from.is_result) {
    Place there = from;
    there.is_result = false;
    there.size = 0;
    return there;
  }
  if (from.size != 0 && from.size != 8) return unfit("an accessor returns no pointer");
  const auto slot = read_pointer(from, guards);
  if (!slot) return slot.error();
  Place there;
  there.slot = *slot;
  there.way = way_behind(from, pointer_at(from), guards);
  make_block(there, guards);
  return there;
}

Result<unsigned> PresetPlaces::read_pointer(const Place& from, const Guards& guards) {
  const std::string way = way_behind(from, pointer_at(from), guards);
  if (const auto known = slots_.find(way); known != slots_.end()) return known->second;
  auto slot = new_slot(way);
  if (slot) read(from, 8, false, *slot, guards);
  return slot;
}

std::string PresetPlaces::way_behind(const Place& from, const std::string& step,
                                     const Guards& guards) const {
  std::string condition;
  for (const std::string& next : guards.conditions) {
    std::string way = condition + from.way + step;
    if (slots_.contains(way)) return way;
    condition += "if " + next + ": ";
  }
  return condition + from.way + step;
}

Result<unsigned> PresetPlaces::slot_of_let(const std::string& name) {
  const std::string way = "let " + name;
  const auto known = slots_.find(way);
  return known == slots_.end() ? new_slot(way) : Result<unsigned>(known->second);
}

Result<unsigned> PresetPlaces::new_slot(const std::string& way) {
  if (slots_.size() == kPointers) {
    return unfit("it follows more than " + std::to_string(kPointers) +
                 " pointers: leave labels out");
  }
  const auto slot = static_cast<unsigned>(slots_.size());
  slots_.emplace(way, slot);
  return slot;
}

void PresetPlaces::guard(unsigned slot, const Guards& guards) {
  if (never_null_.contains(slot)) return;
  if (guards.kind == Guards::Kind::kNeed) {
    say(add_step(LS_PRESET_NEED, 0, slot, LS_PRESET_NOT_EQUAL, 0, 0), guards.why);
    never_null_[slot] = true;
  } else if (guards.kind == Guards::Kind::kLabel && guards.tested->insert(slot).second) {
    guards.to_end->push_back(add_step(LS_PRESET_UNLESS, 0, slot, LS_PRESET_NOT_EQUAL, 0, 0));
  }
}
void PresetPlaces::guard_step(unsigned slot, const Guards& guards) {
  if (guards.kind == Guards::Kind::kStep && !never_null_.contains(slot)) {
    add_step(LS_PRESET_UNLESS, 0, slot, LS_PRESET_NOT_EQUAL, 1, 0);
  }
}

void PresetPlaces::make_block(const Place& of, const Guards& guards) {
  if (of.kind == Place::Kind::kSlot) guard(of.slot, guards);
  const auto block = blocks_.find(of.way);
  if (block == blocks_.end() || filled_.contains(of.way)) return;
  const BlockSpan& span = block->second;
  unsigned from = of.slot;
  if (of.kind == Place::Kind::kSlot) {
    guard_step(of.slot, guards);
  } else {
    from = kRight;  // a comparison may have its left side already
    set_address(of, kRight);
  }
  add_step(LS_PRESET_BLOCK, span.block, from, 0, span.begin,
           static_cast<std::uint64_t>(span.end - span.begin));
  filled_[of.way] = true;
}

void PresetPlaces::set_address(const Place& of, unsigned slot) {
  const unsigned op = of.kind == Place::Kind::kThread ? LS_PRESET_THREAD : LS_PRESET_SET;
  say(add_step(op, slot, 0, 0, 0, of.base), of.way);
}

void PresetPlaces::read(const Place& from, unsigned size, bool is_signed, unsigned to,
                        const Guards& guards) {
  const unsigned how = size | (is_signed ? LS_PRESET_SIGNED : 0U);
  fields_[from.way].emplace_back(from.offset, size);
  if (const BlockSpan* span = block_of(from, size, guards)) {
    add_step(LS_PRESET_FIELD, to, span->block, how, from.offset - span->begin, 0);
    return;
  }
  unsigned base = from.slot;
  if (from.kind == Place::Kind::kSlot) {
    guard_step(base, guards);
  } else {
    set_address(from, to);
    base = to;
  }
  add_step(LS_PRESET_READ, to, base, how, from.offset, 0);
}

const BlockSpan* PresetPlaces::block_of(const Place& from, unsigned size, const Guards& guards) {
  const auto block = blocks_.find(from.way);
  if (block == blocks_.end() || !block->second.holds(from.offset, size)) return nullptr;
  if (!filled_.contains(from.way)) {
    // Of a variable, where it is read first. In a label that may be skipped, so it is read before
    // (begin_variables()).
    if (from.kind == Place::Kind::kSlot || guards.kind == Guards::Kind::kLabel) return nullptr;
    make_block(from, guards);
  }
  return &block->second;
}

Result<Place> PresetPlaces::evaluate(const PresetExpression& expression, const Guards& guards) {
  Result<Place> at = Place{};
  switch (expression.base) {
    case Base::kSymbol:
      at = place_of_symbol(expression.name);
      break;
    case Base::kFunction:
      at = call(expression.name, nullptr, guards);
      break;
    case Base::kLet: {
      const auto let = std::ranges::find(preset_.lets, expression.name, &PresetLet::name);
      if (let->condition) {
        const auto slot = slot_of_let(let->name);
        if (!slot) return slot.error();
        at->slot = *slot;
        at->way = "let " + let->name;
        make_block(*at, guards);
        break;
      }
      // The pointers of `let` do not depend on a label's condition.
      Guards own = guards;
      own.conditions.clear();
      at = evaluate(let->value, own);
      break;
    }
    default:
      return unfit(expression.text + " is no place");
  }
  for (const PresetStep& step : expression.steps) {
    if (!at) return at;
    at = take(*at, step, guards);
  }
  return at;
}

Result<Place> PresetPlaces::take(const Place& from, const PresetStep& step, const Guards& guards) {
  switch (step.kind) {
    case PresetStep::Kind::kAdd: {
      if (from.is_result || from.size != 0) {
        return unfit("behind an accessor stands -> or :TYPE, and not +");
      }
      const auto added = offset(step.number);
      if (!added) return added.error();
      Place to = from;
      to.offset += *added;
      if (to.offset > kMostPresetOffset) return unfit("an offset is too large");
      return to;
    }
    case PresetStep::Kind::kFollow:
      return follow(from, guards);
    case PresetStep::Kind::kCall:
      return call(step.function, &from, guards);
    case PresetStep::Kind::kFind:
      return search(from, step.search, guards);
  }
  return from;
}

Result<Place> PresetPlaces::search(const Place& list, const PresetSearch& search,
                                   const Guards& guards) {
  const auto field = offset(search.field);
  const auto next = offset(search.next);
  const auto value = number(search.value);
  if (!field || !next || !value) return unfit("an offset of a search is too large");
  const std::string way = way_behind(list, "find(" + std::to_string(*value) + ")", guards);
  Place found;
  found.way = way;
  if (const auto known = slots_.find(way); known != slots_.end()) {
    found.slot = known->second;
    guard(found.slot, guards);
    return found;
  }
  const auto slot = new_slot(way);
  if (!slot) return slot.error();
  found.slot = *slot;
  guard_step(list.slot, guards);
  add_step(
      LS_PRESET_FIND, *slot, list.slot, search.most, *field,
      static_cast<std::uint64_t>(*next) << 32 | (static_cast<std::uint64_t>(*value) & UINT32_MAX));
  make_block(found, guards);
  return found;
}

}  // namespace labelscope
