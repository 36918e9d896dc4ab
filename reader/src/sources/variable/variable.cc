// This goes from the variable to its value, and from the value's bytes to text. The user has given
// the type of the bytes, and may be wrong: then the pointers lead anywhere, and each read may fail.
//
//   what there is                         outcome
//   --------------------------------------------------------------------------
//   a null pointer on the way, or as text  no label
//   a number, 0 included; empty text       a label
//   an address that no process can have    malformed
//   memory that is not there               not resident
//
// The BPF program goes the same way (labelscope/bpf/variable.bpf.h) and sends the bytes of the
// value behind their type, so that they can be understood by themselves.
#include "sources/variable/variable.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "labelscope/process_facts.h"
#include "sources/variable/value.h"

namespace labelscope {
namespace {

struct Walk {
  ls_outcome outcome = LS_LABELLED;
  std::uint32_t flags = 0;
  std::vector<std::byte> bytes;  // those of the value
  std::vector<Address> places;   // where each pointer was read, and at last the value
};

class Walker {
 public:
  Walker(const MemorySource& memory, const ls_variable& variable)
      : memory_(memory), variable_(variable) {}

  Walk walk(Address address) {
    address += static_cast<Address>(std::int64_t{variable_.offset[0]});
    for (unsigned hop = 1; hop <= std::min<unsigned>(variable_.hops, LS_VARIABLE_HOPS); ++hop) {
      const auto pointer = read_pointer(address);
      if (!pointer) return std::move(seen_);
      address = *pointer + static_cast<Address>(std::int64_t{variable_.offset[hop]});
    }
    seen_.places.push_back(address);
    switch (variable_.kind) {
      case LS_VARIABLE_CSTRING:
        read_cstring(address);
        break;
      case LS_VARIABLE_TEXT:
        read_text(address);
        break;
      case LS_VARIABLE_SLICE:
      case LS_VARIABLE_VIEW:
        read_slice(address);
        break;
      default:
        read_bytes(address, std::min<std::size_t>(variable_.size, LS_VARIABLE_MAX_BYTES));
    }
    return std::move(seen_);
  }

 private:
  void end(ls_outcome outcome) { seen_.outcome = outcome; }

  // Returns nothing if the walk is over.
  std::optional<Address> followed(Address pointer) {
    if (pointer == 0) return end(LS_UNLABELLED), std::nullopt;
    pointer = memory_.untagged(pointer);
    if (pointer >= kUserAddressEnd) return end(LS_UNREADABLE_MALFORMED), std::nullopt;
    return pointer;
  }
  std::optional<Address> read_pointer(Address address) {
    seen_.places.push_back(address);
    const auto pointer = read_value<Address>(memory_, address);
    if (!pointer) return end(LS_UNREADABLE_NOT_RESIDENT), std::nullopt;
    return followed(*pointer);
  }
  bool read_bytes(Address address, std::size_t size) {
    const std::size_t before = seen_.bytes.size();
    seen_.bytes.resize(before + size);
    if (size == 0 || memory_.read(address, std::span(seen_.bytes).subspan(before))) return true;
    end(LS_UNREADABLE_NOT_RESIDENT);
    return false;
  }
  void read_cstring(Address address) {
    const auto pointer = read_value<Address>(memory_, address);
    if (!pointer) return end(LS_UNREADABLE_NOT_RESIDENT);
    const auto text = followed(*pointer);
    if (!text) return;
    seen_.places.push_back(*text);
    read_text(*text);
  }
  void read_text(Address text) {
    std::array<std::byte, kMostText> bytes{};
    const std::size_t length = read_c_string(memory_, text, bytes);
    if (length == 0) return end(LS_UNREADABLE_NOT_RESIDENT);
    if (length > kMostText) seen_.flags |= LS_TRUNCATED_BYTES;
    seen_.bytes.assign(bytes.begin(), bytes.begin() + std::min(length, kMostText));
  }
  void read_slice(Address address) {
    const auto words = read_value<std::array<std::uint64_t, 2>>(memory_, address);
    if (!words) return end(LS_UNREADABLE_NOT_RESIDENT);
    const bool view = variable_.kind == LS_VARIABLE_VIEW;
    const auto text = followed((*words)[view ? 1 : 0]);
    if (!text) return;
    std::uint64_t size = (*words)[view ? 0 : 1];
    if (size >= kUserAddressEnd) return end(LS_UNREADABLE_MALFORMED);
    if (size > LS_VARIABLE_MAX_BYTES) {
      size = LS_VARIABLE_MAX_BYTES;
      seen_.flags |= LS_TRUNCATED_BYTES;
    }
    seen_.places.push_back(*text);
    read_bytes(*text, size);
  }

  const MemorySource& memory_;
  const ls_variable& variable_;
  Walk seen_;
};

ls_variable variable_of(const ls_tls_recipe& recipe) {
  ls_variable variable{};
  static_assert(sizeof recipe.parameters == sizeof variable);
  std::memcpy(&variable, recipe.parameters, sizeof variable);
  return variable;
}

Walk walk(const ThreadView& thread) {
  const ls_variable variable = variable_of(*thread.recipe);
  return Walker(thread.memory, variable).walk(thread.variable);
}

// A caller without keys (the C interface) distinguishes variables by their numbers.
std::string key_of(unsigned index, const ProcessFacts* facts) {
  if (facts != nullptr && index < facts->variable_keys.size()) return facts->variable_keys[index];
  return "variable" + std::to_string(index);
}

}  // namespace

RawReading Variable::take(const ThreadView& thread) const {
  if (thread.recipe == nullptr) return {LS_UNREADABLE_NO_RECIPE, 0, {}};
  const Walk seen = walk(thread);
  RawReading raw{seen.outcome, seen.flags, {}};
  if (seen.outcome != LS_LABELLED) return raw;
  const ls_variable variable = variable_of(*thread.recipe);
  const ls_variable_value head{variable.kind, variable.index, 0,
                               static_cast<std::uint32_t>(seen.bytes.size())};
  raw.bytes.resize(sizeof head + seen.bytes.size());
  std::memcpy(raw.bytes.data(), &head, sizeof head);
  std::ranges::copy(seen.bytes, raw.bytes.begin() + sizeof head);
  return raw;
}

Observation Variable::decode(std::span<const std::byte> raw, std::uint8_t publisher,
                             const Meanings& by) const {
  Observation malformed{LS_UNREADABLE_MALFORMED, 0, {}};
  ls_variable_value head{};
  if (raw.size() < sizeof head) return malformed;
  std::memcpy(&head, raw.data(), sizeof head);
  if (head.size != raw.size() - sizeof head) return malformed;
  auto value = value_text(head.kind, raw.subspan(sizeof head));
  if (!value) return malformed;
  return {LS_LABELLED, 0, {{key_of(head.index, by.facts), *std::move(value), publisher}}};
}

ReadingStory Variable::explain(const ThreadView& thread) const {
  ReadingStory story;
  if (thread.recipe == nullptr) return story;
  const Walk seen = walk(thread);
  const ls_variable variable = variable_of(*thread.recipe);
  for (std::size_t i = 0; i < seen.places.size(); ++i) {
    const bool pointer = i < variable.hops;
    story.steps.push_back((pointer              ? "the pointer at "
                           : i == variable.hops ? "the value at "
                                                : "its text at ") +
                          hex(seen.places[i]));
  }
  const std::string last = seen.places.empty() ? "it" : story.steps.back();
  if (seen.outcome == LS_UNLABELLED) {
    story.steps.push_back("which is null: no label");
  } else if (is_unreadable(seen.outcome)) {
    story.findings.push_back({FindingCode::kBadPointer,
                              seen.outcome == LS_UNREADABLE_MALFORMED
                                  ? last + " leads to no possible address"
                                  : last + " is not there or not resident",
                              "compare offsets and type of --variable with the program"});
    story.steps.push_back(story.findings.back().text);
  }
  const Observation read_now = read(thread);
  for (const Label& label : read_now.labels) story.steps.push_back(label.key + "=" + label.value);
  story.add_outcome(read_now);
  return story;
}

}  // namespace labelscope
