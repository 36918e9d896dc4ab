// HeldSamples keeps a record as it came and decodes it a second time when its answer is there. That
// is simpler than keeping its decoded parts.
#include "bpf/sampling/held_samples.h"

#include <cstring>
#include <utility>
#include <variant>

namespace labelscope {
namespace {

void hand_out_with(const std::vector<std::uint64_t>& words, const WireLabels& labels,
                   const std::function<void(const SampleRecord&)>& hand_out) {
  auto record = decode_record(std::as_bytes(std::span(words)));
  if (!record) return;  // cannot happen: it was decoded before it was held
  if (auto* sample = std::get_if<SampleRecord>(&*record)) {
    sample->labels = labels;
    hand_out(*sample);
  }
}

}  // namespace

bool HeldSamples::hold(std::uint64_t retry_id, std::span<const std::byte> record) {
  if (held_.size() >= kMost) return false;
  std::vector<std::uint64_t> words(record.size() / sizeof(std::uint64_t));
  std::memcpy(words.data(), record.data(), words.size() * sizeof(std::uint64_t));
  return held_.emplace(retry_id, std::move(words)).second;
}

bool HeldSamples::settle(const AnswerRecord& answer,
                         const std::function<void(const SampleRecord&)>& hand_out) {
  auto found = held_.extract(answer.retry_id);
  if (!found) return false;
  hand_out_with(found.mapped(), answer.labels, hand_out);
  return true;
}

void HeldSamples::give_up(const std::function<void(const SampleRecord&)>& hand_out) {
  WireLabels vanished;
  vanished.outcome = LS_UNREADABLE_VANISHED;
  for (const auto& [id, words] : held_) hand_out_with(words, vanished, hand_out);
  held_.clear();
}

}  // namespace labelscope
