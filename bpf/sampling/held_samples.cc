// HeldSamples keeps a record as it came and decodes it a second time when its answer is there. That
// is simpler than keeping its decoded parts.
#include "bpf/sampling/held_samples.h"

#include <algorithm>
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

bool HeldSamples::hold(const SampleRecord& sample, std::span<const std::byte> record) {
  if (held_.size() >= kMost) return false;
  std::vector<std::uint64_t> words(record.size() / sizeof(std::uint64_t));
  std::memcpy(words.data(), record.data(), words.size() * sizeof(std::uint64_t));
  return held_
      .try_emplace(sample.retry_id,
                   Held{sample.process, sample.identity, sample.time_ns, std::move(words)})
      .second;
}

bool HeldSamples::settle(const AnswerRecord& answer,
                         const std::function<void(const SampleRecord&)>& hand_out) {
  auto found = held_.extract(answer.retry_id);
  if (!found) return false;
  hand_out_with(found.mapped().words, answer.labels, hand_out);
  return true;
}

// The numbers of repeated reads are those of processors, so their order says nothing.
template <class Which>
void HeldSamples::give_up_those(Which which,
                                const std::function<void(const SampleRecord&)>& hand_out) {
  std::vector<Held> those;
  std::erase_if(held_, [&](auto& entry) {
    if (!which(entry.second)) return false;
    those.push_back(std::move(entry.second));
    return true;
  });
  std::ranges::sort(those, {}, &Held::time_ns);
  for (const Held& held : those) hand_out_with(held.words, vanished(), hand_out);
}

void HeldSamples::give_up(const std::function<void(const SampleRecord&)>& hand_out) {
  give_up_those([](const Held&) { return true; }, hand_out);
}

void HeldSamples::give_up_of(Pid pid, const std::function<void(const SampleRecord&)>& hand_out) {
  give_up_those([pid](const Held& held) { return held.process.pid == pid; }, hand_out);
}

void HeldSamples::give_up_of(const ThreadEndRecord& end,
                             const std::function<void(const SampleRecord&)>& hand_out) {
  if (held_.empty()) return;
  give_up_those(
      [&](const Held& held) { return held.process.pid == end.process.pid && held.identity == end.identity; },
      hand_out);
}

}  // namespace labelscope
