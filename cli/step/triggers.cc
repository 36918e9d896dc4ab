#include "cli/step/triggers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "cli/step/aarch64_code.h"
#include "sources/label_source.h"

namespace labelscope::cli {
namespace {

constexpr std::string_view kBegin = "labelscope_update_begin";
constexpr std::string_view kEnd = "labelscope_update_end";
// A function that refers to the variable more often than this gets no breakpoint at each place.
constexpr std::size_t kMaxReferences = 256;

// Calls of the writers that programs link statically, by the names of their C APIs.
bool is_writers(std::string_view function) {
  const auto sources = label_sources();
  return std::ranges::any_of(sources, [&](const LabelSource* source) {
    const UpdateRule* updates = source->about.updates;
    return updates != nullptr && function.starts_with(updates->api);
  });
}

// The part of a name that every mangled form of it contains: demangling all names of a large
// program takes seconds.
std::string_view stem(std::string_view name) {
  name = name.substr(0, name.find_first_of("<("));
  const std::size_t scope = name.rfind("::");
  return scope == std::string_view::npos ? name : name.substr(scope + 2);
}

// The position that separates the pair's two names: a single colon, because names have double ones.
std::size_t pair_colon(const std::string& word) {
  std::size_t at = word.find(':');
  while (at != std::string::npos && word.compare(at, 2, "::") == 0) at = word.find(':', at + 2);
  return at;
}

// Code is read in pieces of this size, which overlap by the length of an instruction.
constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::size_t kOverlap = 512;
// If there are more, the code does not set labels.
constexpr std::size_t kMaxFound = 100'000;

#if defined(__x86_64__)

// Compares a displacement or an immediate of 32 bits. Instructions that reach a slot (mov, add,
// lea) have nothing behind their displacement, which is relative to the next instruction.
bool refers(const std::byte* at, Address address, const VariableReferences& wanted) {
  std::int32_t number = 0;
  std::memcpy(&number, at, sizeof number);
  const Address slot = address + sizeof number + static_cast<Address>(std::int64_t{number});
  return std::ranges::count(wanted.tp_offsets, number) + std::ranges::count(wanted.slots, slot) !=
         0;
}

constexpr std::size_t kStride = 1;

#elif defined(__aarch64__)

bool refers(const std::byte* at, Address address, const VariableReferences& wanted) {
  std::array<std::uint32_t, aarch64::kWordsAhead> words;
  std::memcpy(words.data(), at, sizeof words[0]);
  if (!aarch64::may_begin_reference(words[0])) return false;
  static_assert(sizeof words <= kOverlap);
  std::memcpy(words.data(), at, sizeof words);
  return aarch64::begins_reference(address, words, wanted);
}

constexpr std::size_t kStride = 4;

#endif

// Finds places in machine code that may refer to the variable: addresses of bytes within the
// instructions, ascending. It searches for the numbers and does not follow the code, so it may find
// too many, and none if the address comes from somewhere else.
std::vector<Address> find_references(const Breakpoints& memory, Address start, Address end,
                                     const VariableReferences& wanted) {
  std::vector<Address> found;
  if (wanted.tp_offsets.empty() && wanted.slots.empty()) return found;
  std::vector<std::byte> piece(kPiece + kOverlap);
  for (Address at = start; at < end; at += kPiece) {
    const std::size_t want = std::min<Address>(piece.size(), end - at);
    const std::size_t size = memory.read(at, std::span(piece).first(want));
    // Put zeros behind the end, so that looking ahead is allowed everywhere.
    std::fill(piece.begin() + static_cast<std::ptrdiff_t>(size), piece.end(), std::byte{0});
    for (std::size_t i = 0; i < std::min(size, kPiece); i += kStride) {
      if (!refers(piece.data() + i, at + i, wanted)) continue;
      found.push_back(at + i);
      if (found.size() == kMaxFound) return found;
    }
  }
  return found;
}

}  // namespace

DeclaredUpdates DeclaredUpdates::parse(const std::vector<std::string>& words) {
  DeclaredUpdates declared;
  for (const std::string& word : words) {
    const std::size_t colon = pair_colon(word);
    if (colon == std::string::npos) {
      declared.functions.push_back(word);
      continue;
    }
    declared.begins.push_back(word.substr(0, colon));
    declared.ends.push_back(word.substr(colon + 1));
  }
  declared.begins.emplace_back(kBegin);
  declared.ends.emplace_back(kEnd);
  return declared;
}

void Triggers::add(Address address, unsigned reasons) {
  unsigned& known = reasons_[address];
  if (known == 0 && !breakpoints_.add(address)) {
    reasons_.erase(address);
    return;
  }
  constexpr unsigned kLeadToUpdates =
      kWriterTrigger | kUpdateTrigger | kUpdateBeginTrigger | kReferenceTrigger;
  if ((known & kLeadToUpdates) == 0 && (reasons & kLeadToUpdates) != 0) ++writers_;
  known |= reasons;
}

void Triggers::remove(Address address, unsigned reasons) {
  auto entry = reasons_.find(address);
  if (entry == reasons_.end()) return;
  entry->second &= ~reasons;
  if (entry->second != 0) return;
  breakpoints_.remove(address);
  reasons_.erase(entry);
}

unsigned Triggers::at(Address address) const {
  auto entry = reasons_.find(address);
  return entry == reasons_.end() ? 0 : entry->second;
}

bool Triggers::is_named(const FunctionSymbol& function, const std::vector<std::string>& names) {
  bool is_any = false;
  for (const std::string& name : names) {
    bool is_it = function.name == name;
    if (!is_it && function.name.starts_with("_") &&
        function.name.find(stem(name)) != std::string::npos) {
      const std::string written = code_.namer().demangled(function.name);
      is_it = written == name || written.substr(0, written.find('(')) == name;
    }
    if (is_it) found_.insert(name);
    is_any |= is_it;
  }
  return is_any;
}

void Triggers::add_functions(const MappedCode& range) {
  for (const FunctionSymbol& function : range.file->functions) {
    const Address start = function.start + range.bias;
    if (start < range.start || start >= range.end) continue;
    unsigned reasons = 0;
    if (range.file->role == CodeRole::kPublisher || is_writers(function.name)) {
      reasons |= kWriterTrigger;
    }
    if (is_named(function, declared_.functions)) reasons |= kUpdateTrigger;
    if (is_named(function, declared_.begins)) reasons |= kUpdateBeginTrigger;
    if (is_named(function, declared_.ends)) reasons |= kUpdateEndTrigger;
    if (reasons != 0) add(start, reasons);
  }
}

void Triggers::add_references(const MappedCode& range, const ProcessPlan& plan) {
  VariableReferences wanted;
  for (const Publisher& publisher : plan.publishers) {
    const bool own = range.file->main_executable && publisher.path == range.file->path;
    if (own && publisher.recipe.kind == LS_TP_OFFSET) {
      wanted.tp_offsets.push_back(publisher.recipe.offset);
    }
  }
  for (const LabelSource* source : label_sources()) {
    if (source->about.updates == nullptr) continue;
    auto relocations = range.file->image->tls_relocations(source->about.variable_symbol);
    if (!relocations) continue;
    for (const TlsRelocation& relocation : *relocations) {
      if (relocation.by_name) wanted.slots.push_back(relocation.slot + range.bias);
    }
  }
  for (Address reference : find_references(breakpoints_, range.start, range.end, wanted)) {
    const auto function = code_.function_at(reference);
    if (!function) continue;
    std::vector<Address>& all = references_[function->start];
    if (all.size() < kMaxReferences) all.push_back(reference);
    add(function->start, kWriterTrigger);
  }
}

void Triggers::add_range(const MappedCode& range, const ProcessPlan& plan) {
  add_functions(range);
  // In a publishing library every function is a trigger already.
  if (range.file->role == CodeRole::kProgram) add_references(range, plan);
}

void Triggers::narrow_to_references(Address function_start, const Disassembler& disassembler) {
  remove(function_start, kWriterTrigger);
  auto entry = references_.find(function_start);
  if (entry == references_.end()) return;
  const std::vector<Address>& references = entry->second;
  Address at = function_start;
  const Address end = *std::max_element(references.begin(), references.end());
  while (at <= end) {
    std::array<std::byte, kMaxInstructionSize> bytes{};
    const std::size_t size = breakpoints_.read(at, bytes);
    if (size == 0) return;
    const Instruction instruction = disassembler.decode(at, std::span(bytes).first(size));
    const Address next = at + instruction.size;
    const bool refers = std::any_of(references.begin(), references.end(),
                                    [&](Address r) { return r >= at && r < next; });
    if (refers) add(at, kReferenceTrigger);
    at = next;
  }
}

std::set<std::string> Triggers::missing() const {
  std::set<std::string> missing;
  const auto is_found = [this](const std::string& name) { return found_.count(name) != 0; };
  for (const std::string& name : declared_.functions) {
    if (!is_found(name)) missing.insert(name);
  }
  // The last pair is the one that a program may define but need not.
  for (std::size_t i = 0; i + 1 < declared_.begins.size(); ++i) {
    const std::string& begin = declared_.begins[i];
    const std::string& end = declared_.ends[i];
    if (!is_found(begin) || !is_found(end))
      missing.insert(std::string(begin).append(":").append(end));
  }
  return missing;
}

void Triggers::remove_all() {
  for (const auto& [address, reasons] : reasons_) breakpoints_.remove(address);
  reasons_.clear();
  references_.clear();
}

void Triggers::forget(Address start, Address end) {
  const auto inside = [&](const auto& entry) { return entry.first >= start && entry.first < end; };
  std::erase_if(reasons_, inside);
  std::erase_if(references_, inside);
}

}  // namespace labelscope::cli
