// HeldSamples keeps a record as it came and decodes it a second time when its answer is there. That
// is simpler than keeping its decoded parts.
#include "bpf/sampling/held_samples.h"

#include <cstring>
#include <utility>
#include <variant>

namespace labelscope {
namespace {

WireLabels vanished() {
  WireLabels labels;
  labels.outcome = LS_UNREADABLE_VANISHED;
  return labels;
}

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

bool HeldSamples::hold(std::uint64_t retry_id, Pid pid, std::span<const std::byte> record) {
  if (held_.size() >= kMost) return false;
  std::vector<std::uint64_t> words(record.size() / sizeof(std::uint64_t));
  std::memcpy(words.data(), record.data(), words.size() * sizeof(std::uint64_t));
  return held_.try_emplace(retry_id, Held{pid, std::move(words)}).second;
}

bool HeldSamples::settle(const AnswerRecord& answer,
                         const std::function<void(const SampleRecord&)>& hand_out) {
  auto found = held_.extract(answer.retry_id);
  if (!found) return false;
  hand_out_with(found.mapped().words, answer.labels, hand_out);
  return true;
}

void HeldSamples::give_up(const std::function<void(const SampleRecord&)>& hand_out) {
  for (const auto& [id, held] : held_) hand_out_with(held.words, vanished(), hand_out);
  held_.clear();
}

void HeldSamples::give_up_of(Pid pid, const std::function<void(const SampleRecord&)>& hand_out) {
  std::erase_if(held_, [&](const auto& entry) {
    if (entry.second.pid != pid) return false;
    hand_out_with(entry.second.words, vanished(), hand_out);
    return true;
  });
}

}  // namespace labelscope
