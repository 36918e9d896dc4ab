#include "sources/otel_context/record.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/text.h"

namespace labelscope::otel {
namespace {

// The name of a key, or nothing.
std::string_view name_of(std::uint8_t key, const ProcessFacts* facts) {
  if (facts == nullptr || key >= facts->keys.size()) return {};
  return facts->keys[key];
}

void add_id(std::span<const std::byte> id, const char* key, std::uint8_t publisher,
            LabelSet& labels) {
  const bool set = std::ranges::any_of(id, [](std::byte byte) { return byte != std::byte{0}; });
  if (set) labels.push_back({key, hex_bytes(id), publisher});
}

}  // namespace

bool AttributeReader::next(Attribute& attribute) {
  constexpr std::size_t kHead = 2;
  if (rest_.size() < kHead) return false;
  const auto length = std::to_integer<std::size_t>(rest_[1]);
  if (rest_.size() - kHead < length) return false;
  attribute = {std::to_integer<std::uint8_t>(rest_[0]), rest_.subspan(kHead, length)};
  rest_ = rest_.subspan(kHead + length);
  return true;
}

std::span<const std::byte> attributes_of(const Head& head, std::span<const std::byte> raw) {
  const auto behind = raw.subspan(sizeof head);
  return behind.first(std::min<std::size_t>(behind.size(), head.attribute_bytes));
}

Observation decode(std::span<const std::byte> raw, std::uint8_t publisher,
                   const ProcessFacts* facts) {
  Head head;
  if (raw.size() < sizeof head) return {LS_UNREADABLE_MALFORMED, 0, {}};
  std::memcpy(&head, raw.data(), sizeof head);
  Observation seen;
  if (head.valid != kValid) return seen;
  add_id(head.trace_id, "trace_id", publisher, seen.labels);
  add_id(head.span_id, "span_id", publisher, seen.labels);
  const std::size_t ids = seen.labels.size();

  Attribute attribute;
  AttributeReader reader(attributes_of(head, raw));
  while (reader.next(attribute)) {
    const std::string_view name = name_of(attribute.key, facts);
    if (name.empty()) {
      seen.flags |= LS_UNKNOWN_KEY;
      continue;
    }
    std::string value(reinterpret_cast<const char*>(attribute.value.data()),
                      attribute.value.size());
    const auto known = std::ranges::find(seen.labels, name, &Label::key);
    if (known == seen.labels.end()) {
      seen.labels.push_back({std::string(name), std::move(value), publisher});
      continue;
    }
    seen.flags |= LS_DUPLICATE_KEY;
    // An attribute that is called like an ID does not replace it.
    if (known >= seen.labels.begin() + static_cast<std::ptrdiff_t>(ids)) {
      known->value = std::move(value);
    }
  }
  // Where the reading ended early, the end is no fault of the record's.
  const bool whole = head.attribute_bytes <= raw.size() - sizeof head;
  if (reader.left() != 0 && whole) seen.flags |= LS_INCOMPLETE_LABEL;
  if (!seen.labels.empty()) {
    seen.outcome = LS_LABELLED;
  } else if ((seen.flags & LS_UNKNOWN_KEY) != 0) {
    seen.outcome = LS_UNREADABLE_NO_KEYS;
  } else if (reader.left() != 0) {
    seen.outcome = LS_UNREADABLE_MALFORMED;
  }
  return seen;
}

}  // namespace labelscope::otel
