// This checks the rules of a thread's record (LS210 to LS236), on what is in memory now. Unlike the
// walk (record.h), which reads what it can, this takes every word of OTEP 4947 literally.
//
// Of a record whose mark is 0 nothing is judged but where it lies: it is no record, or one that is
// being written. A mistake of the process context affects the records of all its threads: so it is
// found with each of them, and the code that collects findings reports it once
// (RuleSubject::kProcess).
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "base/text.h"
#include "sources/otel_context/record.h"
#include "sources/otel_context/rules.h"

namespace labelscope::otel {
namespace {

constexpr std::size_t kRecommendedBytes = 640;

class RecordChecker {
 public:
  explicit RecordChecker(const ThreadView& thread) : thread_(thread) {}
  SetCheck check();

 private:
  void report(Finding finding);
  void report(RuleId rule, std::string found, const char* fix) {
    report({FindingCode::kRule, std::move(found), fix, rule});
  }
  SetCheck unreadable();
  void check_head(const Head& head);
  void check_attributes(const RecordReading& seen);
  void check_value(const Attribute& attribute);
  void check_names(const Attribute& attribute);
  void check_process();
  bool says_why() const;
  void take_labels(const Head& head);

  const ThreadView& thread_;
  SetCheck result_;
  std::map<std::uint8_t, std::string> attributes_;  // by key; the last one counts
};

// Reports each rule once, with the number of cases.
void RecordChecker::report(Finding finding) {
  const auto known = std::ranges::find(result_.diagnostics, finding.rule, &Diagnostic::rule);
  if (known != result_.diagnostics.end()) {
    ++known->count;
  } else {
    result_.diagnostics.push_back({std::move(finding)});
  }
}

SetCheck RecordChecker::unreadable() {
  result_.set.state = CheckedSet::State::kUnreadable;
  return std::move(result_);
}

SetCheck RecordChecker::check() {
  using End = RecordReading::End;
  const auto pointer = read_value<Address>(thread_.memory, thread_.variable);
  if (!pointer) return unreadable();
  result_.ranges.push_back({thread_.variable, sizeof *pointer});
  const RecordReading seen = read_record(thread_.memory, thread_.memory.untagged(*pointer));
  if (seen.end == End::kNull) return std::move(result_);
  result_.tested = true;
  if (seen.end == End::kHead) {
    report(kRecordReadable, "the pointer is " + hex(seen.record) + ", where no memory can be read",
           "set it to null before the record's memory is given back");
    return unreadable();
  }
  result_.ranges.push_back({seen.record, sizeof(Head)});
  if (seen.record % 2 != 0) {
    report(kRecordAligned, "the record is at " + hex(seen.record), "align it to 2 bytes or more");
  }
  if (seen.end == End::kNotValid) {
    if (seen.head.valid != 0) {
      report(kValidMark, "valid is " + std::to_string(seen.head.valid),
             "store 1 when the record is whole, and 0 before it changes or ends");
    } else {
      result_.tested = false;
    }
    return std::move(result_);
  }
  check_head(seen.head);
  if (seen.end == End::kAttributes) {
    report(kAttributesReadable,
           std::to_string(seen.head.attribute_bytes) + " bytes of attributes at " +
               hex(seen.record + sizeof(Head)) + " cannot be read",
           "let the size be that of what is written");
    return unreadable();
  }
  check_attributes(seen);
  if (thread_.thread != nullptr) check_process();
  take_labels(seen.head);
  std::ranges::sort(result_.diagnostics, {}, &Diagnostic::rule);
  return std::move(result_);
}

void RecordChecker::check_head(const Head& head) {
  const auto is_set = [](std::byte byte) { return byte != std::byte{0}; };
  const bool trace = std::ranges::any_of(head.trace_id, is_set);
  const bool span = std::ranges::any_of(head.span_id, is_set);
  if (trace != span) {
    report(kIdsTogether,
           trace ? "it has trace " + hex_bytes(head.trace_id) + " and no span"
                 : "it has span " + hex_bytes(head.span_id) + " and no trace",
           "write both IDs before the record counts");
  }
  if (!trace && !span && head.trace_flags != 0) {
    report(kFlagsWithIds, "its trace flags are " + hex(head.trace_flags) + ", and it has no span",
           "set the flags together with both IDs");
  }
  const std::size_t size = sizeof head + head.attribute_bytes;
  if (size > kRecommendedBytes) {
    report(kRecordSize, "it has " + std::to_string(size) + " bytes",
           "keep to few and short attributes");
  }
}

void RecordChecker::check_attributes(const RecordReading& seen) {
  const auto bytes = attributes_of(seen.head, seen.raw.bytes);
  if (!bytes.empty()) result_.ranges.push_back({seen.record + sizeof(Head), bytes.size()});
  AttributeReader reader(bytes);
  for (Attribute attribute; reader.next(attribute);) {
    check_value(attribute);
    if (thread_.thread != nullptr) check_names(attribute);
  }
  const bool whole = (seen.raw.flags & LS_TRUNCATED_BYTES) == 0;
  if (whole && reader.left() != 0) {
    report(kAttributesWhole,
           "the last " + std::to_string(reader.left()) + " of its " + std::to_string(bytes.size()) +
               " bytes of attributes are no whole attribute",
           "let the size of the attributes be what is written of them");
  }
}

void RecordChecker::check_value(const Attribute& attribute) {
  std::string value(reinterpret_cast<const char*>(attribute.value.data()), attribute.value.size());
  if (!is_utf8(value)) {
    report(kAttributesText,
           "the value of key " + std::to_string(attribute.key) + " is no text in UTF-8",
           "cut texts between characters, and encode bytes");
  }
  attributes_[attribute.key] = std::move(value);
}

void RecordChecker::check_names(const Attribute& attribute) {
  auto finding = find_unnamed(attribute.key, thread_.facts());
  if (!finding) return;
  // A process context without names is a mistake of its own, unless it publishes why it has none.
  if (finding->rule != kKeysPublished || !says_why()) report(*std::move(finding));
}

bool RecordChecker::says_why() const {
  return thread_.facts() != nullptr && !thread_.facts()->findings.empty();
}

void RecordChecker::check_process() {
  const ProcessFacts* facts = thread_.facts();
  if (!says_why() && (facts == nullptr || facts->schema.empty())) {
    report(kKeysPublished,
           facts == nullptr ? "the process publishes no process context"
                            : "the process context names no threadlocal.schema_version",
           "publish a process context with threadlocal.schema_version and "
           "threadlocal.attribute_key_map");
  }
  if (facts == nullptr) return;
  for (const Finding& finding : facts->findings) {
    if (finding.rule != RuleId::kNone) report(finding);
  }
}

// Takes the labels as the walk would show them, and a key without a name by its number, so that a
// change is seen.
void RecordChecker::take_labels(const Head& head) {
  LabelSet& labels = result_.set.labels;
  add_ids(head, 0, labels);
  for (const auto& [key, value] : attributes_) {
    const std::string_view name = name_of(key, thread_.facts());
    labels.push_back({name.empty() ? "key " + std::to_string(key) : std::string(name), value});
  }
  if (labels.empty()) return;
  result_.set.state = CheckedSet::State::kSet;
  std::ranges::sort(labels, {}, &Label::key);
}

}  // namespace

SetCheck check_record(const ThreadView& thread) { return RecordChecker(thread).check(); }

}  // namespace labelscope::otel
