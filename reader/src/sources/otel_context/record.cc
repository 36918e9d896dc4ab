#include "sources/otel_context/record.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/text.h"
#include "sources/otel_context/rules.h"

namespace labelscope::otel {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Adds the attributes one by one, also those that do not become a label.
void explain_attributes(const RecordReading& seen, const ProcessFacts* facts, ReadingStory& story) {
  Attribute attribute;
  AttributeReader reader(attributes_of(seen.head, seen.raw.bytes));
  while (reader.next(attribute)) {
    const std::string number = "attribute with key " + std::to_string(attribute.key);
    const std::string_view name = name_of(attribute.key, facts);
    story.steps.push_back(number + (name.empty() ? "" : ", ") + std::string(name) + "=" +
                          text_of(attribute.value));
    if (auto finding = find_unnamed(attribute.key, facts)) {
      story.findings.push_back(*std::move(finding));
    }
  }
  if (reader.left() != 0 && (seen.raw.flags & LS_TRUNCATED_BYTES) == 0) {
    story.findings.push_back({FindingCode::kIncompleteAttribute,
                              "the last " + std::to_string(reader.left()) +
                                  " bytes of the attributes are no whole attribute",
                              "let the size of the attributes be what is written of them",
                              kAttributesWhole, Harm::kSlight});
  }
}

void explain_not_valid(const Head& head, ReadingStory& story) {
  if (head.valid == 0) {
    story.steps.emplace_back(
        "its mark is 0: the thread has no span now, or just changes the record");
    return;
  }
  story.steps.push_back("its mark is " + std::to_string(head.valid) + ", so it is no record");
  story.findings.push_back({FindingCode::kRecordInvalid,
                            "the mark of the record is " + std::to_string(head.valid) +
                                ", neither that of a record (1) nor of none (0)",
                            "let the variable point to a record of OTEP 4947", kValidMark});
}

// Datadog's writers reserve the first attribute for an ID as text, which is all zeros while it is
// not known. An ID of zeros is not shown, as for the IDs of the head.
constexpr std::string_view kLocalRoot = "datadog.local_root_span_id";

bool is_unknown_id(std::string_view name, std::string_view value) {
  return name == kLocalRoot && value.find_first_not_of('0') == std::string_view::npos;
}

}  // namespace

std::optional<Finding> find_unnamed(std::uint8_t key, const ProcessFacts* facts) {
  if (!name_of(key, facts).empty()) return std::nullopt;
  const std::string what = "an attribute with key " + std::to_string(key) + " has no name: ";
  if (facts == nullptr || facts->keys.empty()) {
    return Finding{FindingCode::kKeyMapMissing, what + "the process publishes no names of keys",
                   "publish a process context with threadlocal.attribute_key_map", kKeysPublished,
                   Harm::kSlight};
  }
  return Finding{FindingCode::kUnknownKey,
                 what + (key < facts->keys.size() ? "it is empty in the key map, or was left out"
                                                  : "the process names the keys below " +
                                                        std::to_string(facts->keys.size())),
                 "publish the new names before a record uses them", kKeyNamed, Harm::kSlight};
}

std::string_view name_of(std::uint8_t key, const ProcessFacts* facts) {
  if (facts == nullptr || key >= facts->keys.size()) return {};
  return facts->keys[key];
}

void add_id(std::span<const std::byte> id, const char* key, std::uint8_t publisher,
            LabelSet& labels) {
  const bool set = std::ranges::any_of(id, [](std::byte byte) { return byte != std::byte{0}; });
  if (set) labels.push_back({key, hex_bytes(id), publisher});
}

void add_ids(const Head& head, std::uint8_t publisher, LabelSet& labels) {
  add_id(head.trace_id, "trace_id", publisher, labels);
  add_id(head.span_id, "span_id", publisher, labels);
}

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

RecordReading read_record(const MemorySource& memory, Address record) {
  using End = RecordReading::End;
  RecordReading seen;
  seen.record = record;
  const auto stop = [&](End end, ls_outcome outcome) {
    seen.end = end;
    seen.raw.outcome = outcome;
    return seen;
  };
  if (record == 0) return stop(End::kNull, LS_UNLABELLED);
  const auto head = read_value<Head>(memory, record);
  if (!head) return stop(End::kHead, LS_UNREADABLE_NOT_RESIDENT);
  seen.head = *head;
  if (head->valid != kValid) return stop(End::kNotValid, LS_UNLABELLED);

  const std::size_t size = std::min<std::size_t>(head->attribute_bytes, kMostAttributeBytes);
  if (size < head->attribute_bytes) seen.raw.flags |= LS_TRUNCATED_BYTES;
  seen.raw.bytes.resize(sizeof *head + size);
  std::memcpy(seen.raw.bytes.data(), &*head, sizeof *head);
  const auto attributes = std::span(seen.raw.bytes).subspan(sizeof *head);
  if (size != 0 && !memory.read(record + sizeof *head, attributes)) {
    return stop(End::kAttributes, LS_UNREADABLE_NOT_RESIDENT);
  }
  const Head none{{}, {}, kValid, head->trace_flags, 0};
  const bool empty = std::memcmp(&none, &*head, sizeof none) == 0;
  return stop(End::kWhole, empty ? LS_UNLABELLED : LS_LABELLED);
}

bool explain_record(const RecordReading& seen, const ProcessFacts* facts, ReadingStory& story) {
  using End = RecordReading::End;
  if (seen.end == End::kNull) {
    story.steps.emplace_back("the pointer is null: the thread has no record now");
    return false;
  }
  story.steps.push_back("the pointer leads to a record at " + hex(seen.record));
  if (seen.end == End::kHead) {
    story.add_unreadable("the record", seen.record);
    return false;
  }
  story.steps.push_back("the record has trace " + hex_bytes(seen.head.trace_id) + ", span " +
                        hex_bytes(seen.head.span_id) + ", flags " + hex(seen.head.trace_flags) +
                        ", " + std::to_string(seen.head.attribute_bytes) + " bytes of attributes");
  if (seen.end == End::kNotValid) {
    explain_not_valid(seen.head, story);
    return false;
  }
  if (seen.end == End::kAttributes) {
    story.add_unreadable("the attributes", seen.record + sizeof seen.head);
    return false;
  }
  if ((seen.raw.flags & LS_TRUNCATED_BYTES) != 0) {
    story.steps.push_back("of its attributes, " + std::to_string(kMostAttributeBytes) +
                          " bytes are read");
  }
  explain_attributes(seen, facts, story);
  return true;
}

Observation decode(std::span<const std::byte> raw, std::uint8_t publisher,
                   const ProcessFacts* facts) {
  Head head;
  if (raw.size() < sizeof head) return {LS_UNREADABLE_MALFORMED, 0, {}};
  std::memcpy(&head, raw.data(), sizeof head);
  Observation seen;
  if (head.valid != kValid) return seen;
  add_ids(head, publisher, seen.labels);
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
    if (is_unknown_id(name, value)) {
      if (known != seen.labels.end()) seen.labels.erase(known);
      continue;
    }
    if (known == seen.labels.end()) {
      seen.labels.push_back({std::string(name), std::move(value), publisher});
      continue;
    }
    seen.flags |= LS_DUPLICATE_KEY;
    // An attribute with the name of an ID does not replace it.
    if (known >= seen.labels.begin() + static_cast<std::ptrdiff_t>(ids)) {
      known->value = std::move(value);
    }
  }
  // If the reading ended early, the end is not a fault of the record.
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
