#include "sources/label_codec.h"

#include <cstring>
#include <string>
#include <utility>

#include "sources/label_source.h"

namespace labelscope {
namespace {

// This head is before the bytes of each label. With a source that sends raw bytes there is no key,
// and the value is these bytes.
struct LabelHead {
  std::uint8_t publisher;
  std::uint8_t source;  // enum ls_source
  std::uint16_t key_length;
  std::uint16_t value_length;
};
static_assert(sizeof(LabelHead) == 6, "it has no gaps: its parts are written one by one");

class LabelWriter {
 public:
  LabelWriter(std::vector<std::byte>& bytes, std::size_t size) : out_(grow(bytes, size)) {}
  void put(const LabelHead& head, const void* name, const void* value) {
    // Part by part: to read the head as one would have to wait until its parts are written.
    put(&head.publisher, sizeof head.publisher);
    put(&head.source, sizeof head.source);
    put(&head.key_length, sizeof head.key_length);
    put(&head.value_length, sizeof head.value_length);
    put(name, head.key_length);
    put(value, head.value_length);
  }

 private:
  // The bytes grow only once, because this is done for every sample.
  static std::byte* grow(std::vector<std::byte>& bytes, std::size_t size) {
    const std::size_t start = bytes.size();
    bytes.resize(start + size);
    return bytes.data() + start;
  }
  // Most texts are short, and a call for each would take longer than their bytes. Two words that
  // overlap are enough for 8 to 16 bytes.
  void put(const void* from, std::size_t count) {
    const auto* bytes = static_cast<const std::byte*>(from);
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    if (count >= kWord && count <= 2 * kWord) {
      std::memcpy(out_, bytes, kWord);
      std::memcpy(out_ + count - kWord, bytes + count - kWord, kWord);
    } else if (count != 0) {
      std::memcpy(out_, bytes, count);
    }
    out_ += count;
  }

  std::byte* out_;
};

// This takes label bytes apart. labelscope itself has made them, so if they break off, they merely
// end.
class LabelReader {
 public:
  explicit LabelReader(std::span<const std::byte> bytes) : rest_(bytes) {}
  bool next() {
    if (rest_.size() < sizeof head) return false;
    std::memcpy(&head, rest_.data(), sizeof head);
    const std::size_t size = sizeof head + head.key_length + head.value_length;
    if (rest_.size() < size) return false;
    name = rest_.subspan(sizeof head, head.key_length);
    value = rest_.subspan(sizeof head + head.key_length, head.value_length);
    rest_ = rest_.subspan(size);
    return true;
  }

  LabelHead head{};
  std::span<const std::byte> name;
  std::span<const std::byte> value;

 private:
  std::span<const std::byte> rest_;
};

std::size_t label_count(std::span<const std::byte> bytes) {
  std::size_t count = 0;
  for (LabelReader reader(bytes); reader.next();) ++count;
  return count;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Appends a raw reading of one publisher.
void append_raw(const RawReading& raw, const ThreadView& view, std::vector<std::byte>& bytes) {
  LabelWriter writer(bytes, sizeof(LabelHead) + raw.bytes.size());
  writer.put({view.publisher, static_cast<std::uint8_t>(view.recipe->source), 0,
              static_cast<std::uint16_t>(raw.bytes.size())},
             raw.bytes.data(), raw.bytes.data());
}

}  // namespace

Result<WireLabels> open_labels(std::span<const std::byte> bytes) {
  WireLabels labels;
  const auto* first = reinterpret_cast<const unsigned char*>(bytes.data());
  if (const char* problem = ls_open_labels(&labels.start, first, bytes.size())) {
    return Error{ErrorCode::kMalformed, std::string("a record of the BPF programs has ") + problem};
  }
  ls_label_head head{};
  std::memcpy(&head, bytes.data(), sizeof(head));
  labels.outcome = static_cast<ls_outcome>(head.outcome);
  labels.flags = head.flags;
  return labels;
}

void append_label_bytes(const WireLabels& labels, std::vector<std::byte>& bytes) {
  ls_label_view label{};
  std::size_t size = 0;
  for (ls_label_cursor cursor = labels.start; ls_next_label(&cursor, &label) != 0;) {
    size += sizeof(LabelHead) + label.key_length + label.value_length;
  }
  LabelWriter writer(bytes, size);
  for (ls_label_cursor cursor = labels.start; ls_next_label(&cursor, &label) != 0;) {
    writer.put({label.publisher, label.source, label.key_length, label.value_length}, label.key,
               label.value);
  }
}

void append_label_bytes(const LabelSet& labels, std::vector<std::byte>& bytes, ls_source source) {
  std::size_t size = 0;
  for (const Label& label : labels) {
    size += sizeof(LabelHead) + label.key.size() + label.value.size();
  }
  LabelWriter writer(bytes, size);
  for (const Label& label : labels) {
    // LS_MAX_LABEL_BYTES is far below 2^16.
    writer.put({label.publisher, static_cast<std::uint8_t>(source),
                static_cast<std::uint16_t>(label.key.size()),
                static_cast<std::uint16_t>(label.value.size())},
               label.key.data(), label.value.data());
  }
}

Observation observe_as_bytes(std::span<const ls_tls_recipe> recipes, const ThreadState& thread,
                             const MemorySource& memory, std::vector<std::byte>& bytes) {
  return observe_by(recipes, thread, memory,
                    [&](const LabelSource& source, const ThreadView& view) {
                      if (source.sends_words()) {
                        Observation one = source.read(view);
                        append_label_bytes(std::exchange(one.labels, {}), bytes, source.about.number);
                        return one;
                      }
                      const RawReading raw = source.take(view);
                      if (raw.outcome == LS_LABELLED) append_raw(raw, view, bytes);
                      return Observation{raw.outcome, raw.flags, {}};
                    });
}

Observation decode_label_bytes(std::span<const std::byte> bytes, const Meanings& by) {
  Observation total;
  Observation words;
  bool first = true;
  const auto merge = [&](Observation one) {
    merge_observation(total, std::move(one), std::exchange(first, false));
  };
  const auto finish_words = [&] {
    if (words.labels.empty()) return;
    keep_first_keys(words.labels, words.flags);
    words.outcome = LS_LABELLED;
    merge(std::exchange(words, {}));
  };
  for (LabelReader reader(bytes); reader.next();) {
    const LabelSource* source = find_source(reader.head.source);
    const std::uint8_t publisher = reader.head.publisher;
    if (source == nullptr) continue;
    if (!source->sends_words()) {
      finish_words();
      merge(source->decode(reader.value, publisher, by));
      continue;
    }
    if (!words.labels.empty() && words.labels.back().publisher != publisher) finish_words();
    if (words.labels.empty()) words.labels.reserve(label_count(bytes));
    words.labels.push_back({text_of(reader.name), text_of(reader.value), publisher});
  }
  finish_words();
  return total;
}

Observation observation_of(const WireLabels& labels, const Meanings& by) {
  std::vector<std::byte> bytes;
  append_label_bytes(labels, bytes);
  Observation seen = decode_label_bytes(bytes, by);
  if (labels.outcome != LS_LABELLED) seen.outcome = labels.outcome;
  seen.flags |= labels.flags;
  // There are blocks with nothing in them. (A preset may leave out every value that it was sent.)
  if (bytes.empty() && labels.outcome == LS_LABELLED) {
    seen.outcome = LS_UNREADABLE_MALFORMED;
  }
  if (seen.outcome != LS_LABELLED) seen.flags &= ~static_cast<std::uint32_t>(LS_PARTLY_UNREADABLE);
  return seen;
}

}  // namespace labelscope
