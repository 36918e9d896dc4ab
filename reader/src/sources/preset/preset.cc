// This goes from what the program of a preset has found to labels.
#include "sources/preset/preset.h"

#include <cstring>
#include <utility>

#include "sources/preset/preset_run.h"
#include "sources/variable/value.h"

namespace labelscope {
namespace {

// So often the values of a process that runs may differ from one reading to the next.
constexpr int kMostReadings = 8;

bool is_equal(const PresetReading& a, const PresetReading& b) {
  return a.raw.outcome == b.raw.outcome && a.raw.flags == b.raw.flags &&
         a.raw.bytes == b.raw.bytes && a.compared == b.compared;
}

// Takes the bytes of a block apart. They are hostile: a BPF program may have sent them, and a
// recording that is read again may be anyone's.
class LabelReader {
 public:
  explicit LabelReader(std::span<const std::byte> raw) : rest_(raw) {}
  template <class T>
  bool take(T& value) {
    if (rest_.size() < sizeof value) return false;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return true;
  }
  bool take(std::size_t size, std::span<const std::byte>& bytes) {
    if (rest_.size() < size) return false;
    bytes = rest_.first(size);
    rest_ = rest_.subspan(size);
    return true;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace

const PresetPlan* plan_of(const ThreadView& thread) {
  const PresetPlans* presets = thread.meanings().presets;
  return presets == nullptr || thread.recipe == nullptr ? nullptr : presets->find(*thread.recipe);
}

std::vector<SourceDetail> Preset::details(const FileInspection& file) const {
  const auto* matched = dynamic_cast<const MatchedPreset*>(file.own.get());
  if (matched == nullptr) return {};
  return {{"preset", matched->name}};
}

RawReading Preset::take(const ThreadView& thread) const {
  const PresetPlan* plan = plan_of(thread);
  if (plan == nullptr) return {LS_UNREADABLE_NO_RECIPE, 0, {}};
  PresetReading before = run_preset(*plan, thread);
  for (int i = 1; i < kMostReadings; ++i) {
    PresetReading now = run_preset(*plan, thread);
    if (is_equal(before, now)) return std::move(now.raw);
    before = std::move(now);
  }
  return {LS_UNREADABLE_TORN, 0, {}};
}

Observation Preset::decode(std::span<const std::byte> raw, std::uint8_t publisher,
                           const Meanings& by) const {
  Observation malformed{LS_UNREADABLE_MALFORMED, 0, {}};
  LabelReader reader(raw);
  ls_preset_labels head{};
  if (!reader.take(head) || head.count > LS_PRESET_STEPS) return malformed;
  const PresetPlan* plan = by.presets == nullptr ? nullptr : by.presets->find(head.preset);
  if (plan == nullptr) return {LS_UNREADABLE_NO_KEYS, LS_UNKNOWN_KEY, {}};
  Observation seen;
  for (std::uint32_t i = 0; i < head.count; ++i) {
    ls_preset_label label{};
    std::span<const std::byte> bytes;
    if (!reader.take(label) || label.number >= plan->labels.size() ||
        !reader.take(label.size[0] + 256U * label.size[1], bytes)) {
      return malformed;
    }
    std::optional<std::string> value = value_text(label.kind, bytes);
    if (!value) return malformed;
    const PresetLabel& meaning = plan->labels[label.number];
    if (meaning.transform) value = meaning.transform(*std::move(value));
    if (value) seen.labels.push_back({meaning.key, *std::move(value), publisher});
  }
  if (!reader.at_end()) return malformed;
  keep_first_keys(seen.labels, seen.flags);
  if (!seen.labels.empty()) seen.outcome = LS_LABELLED;
  return seen;
}

}  // namespace labelscope
