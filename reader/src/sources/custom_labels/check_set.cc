// This checks the data rules on one label set. Like the walk (label_walk.cc has a drawing), the
// check goes from pointer to set to array to strings. Unlike the walk, it goes on after a fault as
// far as it can, and reports which rule each fault breaks.
//
// A read that fails breaks a rule only if the program itself could not read there either. If the
// process ends during the check, that breaks no rule.
#include "sources/check_set.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "labelscope/outcome.h"
#include "sources/custom_labels/remote_set.h"
#include "sources/custom_labels/rules.h"

namespace labelscope {
namespace {

// So many bytes of a key are enough to recognize it.
constexpr std::size_t kShownKeyBytes = 64;

std::string counted(std::uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

class SetChecker {
 public:
  SetChecker(const MemorySource& memory, const ThreadStack& stack)
      : memory_(memory), stack_(stack) {}

  SetCheck check(Address variable);

 private:
  // kMissing means that there is no memory, which is a finding; kGone that labelscope cannot look
  // at the process.
  enum class Reading { kDone, kMissing, kGone };
  struct Text {
    Reading reading = Reading::kMissing;
    std::optional<std::string> bytes;  // none if the string is readable but too long
  };

  Reading read(Address address, std::span<std::byte> out);
  // Tries to read the first and the last byte of a range.
  Reading probe(Address address, std::uint64_t size);
  void check_frame(Address set);
  void check_storage(const RemoteSet& head);
  std::optional<std::vector<RemoteLabel>> read_storage(Address storage, std::uint64_t count);
  void explain_storage(Address storage, std::uint64_t count);
  void check_element(const RemoteLabel& element);
  Text read_text(const RemoteString& string);
  void check_alignment(Address address, const char* what);
  void check_limits(std::uint64_t count);
  void report(RuleId rule, std::string found, std::string fix,
              FindingCode code = FindingCode::kRule, Harm harm = Harm::kSlight);
  // Does the same for a fault that keeps every reader from the set.
  void report_unreadable(RuleId rule, FindingCode code, std::string found, std::string fix) {
    readable_ = false;
    report(rule, std::move(found), std::move(fix), code, Harm::kUnreadable);
  }
  void report_string(RuleId rule, const std::string& what, const RemoteString& string);
  std::string position() const;
  SetCheck finish(CheckedSet::State state, LabelSet labels = {});

  void check_end(const std::string& what, const std::optional<std::string>& bytes);

  const MemorySource& memory_;
  const ThreadStack& stack_;
  SetCheck result_;
  bool readable_ = true;  // true if a reader could read all of the set so far
  bool gone_ = false;
  std::size_t bytes_read_ = 0;
  // The state of the walk over the set.
  std::uint64_t count_ = 0;
  std::size_t index_ = 0;
  std::uint64_t with_key_ = 0;
  std::uint64_t label_bytes_ = 0;
  bool beyond_bounds_ = false;
  std::map<std::string, std::optional<std::string>> labels_;  // nullopt if the value is null
};

SetChecker::Reading SetChecker::read(Address address, std::span<std::byte> out) {
  const Status status = memory_.read(address, out);
  if (status) {
    std::vector<SetCheck::Range>& ranges = result_.ranges;
    const bool continues = ranges.size() > 1 && ranges.back().start + ranges.back().size == address;
    if (continues) {
      ranges.back().size += out.size();
    } else if (!out.empty()) {
      ranges.push_back({address, out.size()});
    }
    return Reading::kDone;
  }
  if (status.error().code == ErrorCode::kUnreadable) return Reading::kMissing;
  gone_ = true;
  return Reading::kGone;
}

SetChecker::Reading SetChecker::probe(Address address, std::uint64_t size) {
  if (!fits_address_space(address, size)) return Reading::kMissing;
  std::byte ignored{};
  for (const Address at : {address, address + (size - 1)}) {
    const Status status = memory_.read(at, std::span(&ignored, 1));
    if (status) continue;
    gone_ = status.error().code != ErrorCode::kUnreadable;
    return gone_ ? Reading::kGone : Reading::kMissing;
  }
  return Reading::kDone;
}

void SetChecker::report(RuleId rule, std::string found, std::string fix, FindingCode code,
                        Harm harm) {
  for (Diagnostic& known : result_.diagnostics) {
    if (known.rule != rule) continue;
    ++known.count;
    return;
  }
  result_.diagnostics.push_back({{code, std::move(found), std::move(fix), rule, harm}});
}

SetCheck SetChecker::finish(CheckedSet::State state, LabelSet labels) {
  result_.set = {state, std::move(labels)};
  // The process has ended, so the faults that were found may come from its end.
  if (gone_) result_.diagnostics.clear();
  result_.tested = !result_.diagnostics.empty() || result_.ranges.size() > 1;
  std::ranges::stable_sort(result_.diagnostics, {}, &Diagnostic::rule);
  return std::move(result_);
}

SetCheck SetChecker::check(Address variable) {
  Address pointer = 0;
  if (read(variable, std::as_writable_bytes(std::span(&pointer, 1))) != Reading::kDone) {
    report_unreadable(abi_v1::kSetReadable, FindingCode::kBadPointer,
                      "the variable at " + hex(variable) + " cannot be read", {});
    return finish(CheckedSet::State::kUnreadable);
  }
  if (pointer == 0) return finish(CheckedSet::State::kNone);

  const Address address = memory_.untagged(pointer);
  check_alignment(address, "the set");
  RemoteSet head{};
  if (!fits_address_space(address, sizeof head) ||
      read(address, std::as_writable_bytes(std::span(&head, 1))) != Reading::kDone) {
    report_unreadable(
        abi_v1::kSetReadable, FindingCode::kBadPointer,
        "the pointer leads to " + hex(pointer) + ", where no memory is",
        "set the pointer only when the set is in place, and to null before the set is freed");
    return finish(CheckedSet::State::kUnreadable);
  }
  if (head.count == 0) return finish(CheckedSet::State::kNone);

  count_ = head.count;
  check_frame(address);
  if (head.capacity < head.count) {
    report(abi_v1::kCapacityHoldsCount,
           "its capacity is " + std::to_string(head.capacity) + " and its count " +
               std::to_string(head.count),
           "set the capacity to the number of places in its array");
  }
  check_storage(head);
  if (!readable_ || gone_) return finish(CheckedSet::State::kUnreadable);
  check_limits(head.count);
  LabelSet labels;
  for (auto& [key, value] : labels_) {
    if (value) labels.push_back({key, *std::move(value), 0});
  }
  if (labels.empty()) return finish(CheckedSet::State::kNone);
  return finish(CheckedSet::State::kSet, std::move(labels));
}

// The stack grows downwards: what lies below its pointer is of functions that have returned. A leaf
// uses 128 bytes there (the red zone of x86-64). But a stack for coroutines may be a part of the
// heap, with other memory right below it.
void SetChecker::check_frame(Address set) {
  constexpr Address kRedZone = 128;
  constexpr Address kMostBelow = Address{1} << 16;
  if (stack_.pointer < kMostBelow || set + sizeof(RemoteSet) > stack_.pointer - kRedZone ||
      set < stack_.pointer - kMostBelow) {
    return;
  }
  const auto start = stack_.start();
  if (!start || set < *start) return;
  report(abi_v1::kSetReadable,
         "the set lies on the thread's stack, " + std::to_string(stack_.pointer - set) +
             " bytes below the stack pointer: in a function that has returned",
         "keep the set as long as the pointer leads to it, or set the pointer to null before the "
         "function returns");
}

void SetChecker::check_alignment(Address address, const char* what) {
  constexpr Address kWord = alignof(custom_labels_labelset_t);
  static_assert(alignof(custom_labels_label_t) == kWord);
  if (address % kWord == 0) return;
  report(abi_v1::kDataAligned,
         std::string(what) + " lies at " + hex(address) + ", which is not a multiple of " +
             std::to_string(kWord),
         "take memory that is aligned for pointers, as malloc gives it");
}

void SetChecker::check_storage(const RemoteSet& head) {
  if (head.storage == 0) {
    return report_unreadable(
        abi_v1::kStorageReadable, FindingCode::kMalformedSet,
        "its storage is null and its count " + std::to_string(head.count),
        "set the count to 0, or the pointer to null, where there is no storage");
  }
  const Address storage = memory_.untagged(head.storage);
  check_alignment(storage, "the storage");
  const auto elements = read_storage(storage, head.count);
  if (!elements) {
    readable_ = false;
    if (!gone_) explain_storage(storage, head.count);
    return;
  }
  for (const RemoteLabel& element : *elements) {
    check_element(element);
    if (gone_) return;
    ++index_;
  }
}

// Reads at most kMaxCheckedElements elements; returns nullopt if some cannot be read.
std::optional<std::vector<RemoteLabel>> SetChecker::read_storage(Address storage,
                                                                 std::uint64_t count) {
  if (count > kAddressEnd / sizeof(RemoteLabel)) return std::nullopt;
  if (!fits_address_space(storage, count * sizeof(RemoteLabel))) return std::nullopt;
  std::vector<RemoteLabel> elements(std::min<std::uint64_t>(count, kMaxCheckedElements));
  if (read(storage, std::as_writable_bytes(std::span(elements))) != Reading::kDone) {
    return std::nullopt;
  }
  if (count == elements.size()) return elements;
  beyond_bounds_ = true;
  if (probe(storage, count * sizeof(RemoteLabel)) != Reading::kDone) return std::nullopt;
  return elements;
}

void SetChecker::explain_storage(Address storage, std::uint64_t count) {
  const std::string claimed = "its count is " + std::to_string(count);
  const char* fix =
      "raise the count only when the element is in place, and free storage only when no "
      "thread's pointer leads to it";
  std::uint64_t there = 0;
  while (there < kMaxCheckedElements && there < count) {
    const Address next = storage + there * sizeof(RemoteLabel);
    if (probe(next, sizeof(RemoteLabel)) != Reading::kDone) break;
    ++there;
  }
  if (gone_) return;
  // A count that no reader accepts is treated as impossible, not as an array that is gone.
  report_unreadable(
      abi_v1::kStorageReadable,
      count > LS_MAX_SLOTS ? FindingCode::kMalformedSet : FindingCode::kBadPointer,
      there == 0 ? "its storage is at " + hex(storage) + ", where no memory is, and " + claimed
                 : claimed + ", and the memory of its storage ends " +
                       (there == kMaxCheckedElements ? "before that"
                                                     : "after " + counted(there, "element")),
      fix);
}

// Returns "element 3 of 5".
std::string SetChecker::position() const {
  return "element " + std::to_string(index_ + 1) + " of " + std::to_string(count_);
}

void SetChecker::report_string(RuleId rule, const std::string& what, const RemoteString& string) {
  const bool possible = fits_address_space(memory_.untagged(string.address), string.length);
  // A length that is an address of this process, and a pointer that is a length.
  constexpr Address kNoAddress = 65536;
  const bool exchanged =
      string.address < kNoAddress && probe(memory_.untagged(string.length), 1) == Reading::kDone;
  const auto code = possible ? FindingCode::kBadPointer : FindingCode::kMalformedSet;
  if (gone_) return;
  if (exchanged) {
    return report_unreadable(rule, code,
                             what + " has " + hex(string.length) + " as its length and " +
                                 std::to_string(string.address) +
                                 " as its pointer: they are the wrong way round",
                             "the length comes first, then the pointer");
  }
  report_unreadable(rule, code,
                    what + " is " + counted(string.length, "byte") + " at " + hex(string.address) +
                        ", which cannot be read",
                    "set its pointer and length before the element counts, and keep its bytes as "
                    "long as it does");
}

void SetChecker::check_element(const RemoteLabel& element) {
  if (element.key.address == 0) {
    return report(abi_v1::kKeyNotNull, position() + " has no key (readers skip it)",
                  "leave removed elements out of the array");
  }
  ++with_key_;
  label_bytes_ += std::min(element.key.length, kAddressEnd);
  Text key = read_text(element.key);
  if (key.reading == Reading::kMissing) {
    report_string(abi_v1::kKeyReadable, "the key of " + position(), element.key);
  }
  const std::string shown =
      key.bytes ? " of key \"" + key.bytes->substr(0, kShownKeyBytes) + "\"" : std::string();
  Text value;
  if (element.value.address == 0) {
    report(abi_v1::kValueNotNull, "the value" + shown + " is null (" + position() + ")",
           "for an empty value point to some byte and set the length to 0; to remove a label, "
           "make its key null first",
           FindingCode::kNullValue);
  } else {
    label_bytes_ += std::min(element.value.length, kAddressEnd);
    value = read_text(element.value);
    if (value.reading == Reading::kMissing) {
      report_string(abi_v1::kValueReadable, "the value" + shown + " (" + position() + ")",
                    element.value);
    }
  }
  check_end("the key of " + position(), key.bytes);
  check_end("the value" + shown + " (" + position() + ")", value.bytes);
  if (!key.bytes) return;
  const bool is_new = labels_.try_emplace(*key.bytes, std::move(value.bytes)).second;
  if (is_new) return;
  report(abi_v1::kKeysUnique,
         "key \"" + key.bytes->substr(0, kShownKeyBytes) + "\" is there again (" + position() +
             "), and the first one counts",
         "replace the label that has the key");
}

void SetChecker::check_end(const std::string& what, const std::optional<std::string>& bytes) {
  if (!bytes || bytes->size() < 2 || bytes->back() != '\0') return;
  report(abi_v1::kTextWithNul, what + " ends with a zero byte",
         "leave the NUL of a C string out of its length");
}

SetChecker::Text SetChecker::read_text(const RemoteString& string) {
  const Address address = memory_.untagged(string.address);
  if (!fits_address_space(address, string.length)) return {Reading::kMissing, std::nullopt};
  if (string.length == 0) return {Reading::kDone, std::string()};
  if (string.length > kMaxCheckedBytes - bytes_read_) {
    beyond_bounds_ = true;
    return {probe(address, string.length), std::nullopt};
  }
  bytes_read_ += string.length;
  std::string bytes(string.length, '\0');
  const Reading reading = read(address, std::as_writable_bytes(std::span(bytes)));
  if (reading != Reading::kDone) return {reading, std::nullopt};
  return {Reading::kDone, std::move(bytes)};
}

void SetChecker::check_limits(std::uint64_t count) {
  const char* fix =
      "keep sets small: there are readers that keep 10 elements, 25 bytes of a key and 53 bytes of "
      "a value";
  if (count > LS_MAX_SLOTS) {
    report(abi_v1::kReaderLimits,
           "it has " + std::to_string(count) + " elements, and readers look at the first " +
               std::to_string(LS_MAX_SLOTS),
           fix);
  } else if (with_key_ > LS_MAX_LABELS) {
    report(abi_v1::kReaderLimits,
           "it has " + std::to_string(with_key_) + " labels, and readers keep " +
               std::to_string(LS_MAX_LABELS),
           fix);
  } else if (label_bytes_ > LS_MAX_LABEL_BYTES || beyond_bounds_) {
    report(abi_v1::kReaderLimits,
           "its keys and values have " + std::to_string(label_bytes_) +
               " bytes, and readers keep " + std::to_string(LS_MAX_LABEL_BYTES),
           fix);
  }
}

}  // namespace

SetCheck check_label_set(const MemorySource& memory, Address variable, const ThreadStack& stack) {
  return SetChecker(memory, stack).check(variable);
}

}  // namespace labelscope
