// For each label: publisher, lengths, then the bytes of key and value.
#include "labels/label_key.h"

#include <cstdint>
#include <cstring>

namespace labelscope {
namespace {

struct LabelHead {
  std::uint32_t publisher;
  std::uint32_t key_size;
  std::uint32_t value_size;
};

std::string take_text(std::span<const std::byte>& bytes, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), size);
  bytes = bytes.subspan(size);
  return text;
}

}  // namespace

void append_label_key(const LabelSet& labels, std::vector<std::byte>& key) {
  auto put = [&key](const void* from, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(from);
    key.insert(key.end(), bytes, bytes + size);
  };
  for (const Label& label : labels) {
    const LabelHead head{label.publisher, static_cast<std::uint32_t>(label.key.size()),
                         static_cast<std::uint32_t>(label.value.size())};
    put(&head, sizeof head);
    put(label.key.data(), label.key.size());
    put(label.value.data(), label.value.size());
  }
}

Observation decode_plain_labels(std::span<const std::byte> key) {
  Observation seen;
  while (key.size() >= sizeof(LabelHead)) {
    LabelHead head{};
    std::memcpy(&head, key.data(), sizeof head);
    key = key.subspan(sizeof head);
    if (head.key_size > key.size() || head.value_size > key.size() - head.key_size) break;
    Label label;
    label.key = take_text(key, head.key_size);
    label.value = take_text(key, head.value_size);
    label.publisher = static_cast<std::uint8_t>(head.publisher);
    seen.labels.push_back(std::move(label));
  }
  seen.outcome = seen.labels.empty() ? LS_UNLABELLED : LS_LABELLED;
  return seen;
}

}  // namespace labelscope
