// All records are made before the clock starts. To hand one out changes only a few bytes of it.
#include "synthetic_records.h"

#include <array>
#include <cstring>
#include <random>

namespace labelscope::bench {
namespace {

constexpr std::size_t kRequestDigits = 16;

void append(std::string& out, const void* bytes, std::size_t size) {
  out.append(static_cast<const char*>(bytes), size);
}

// Key and value of one label.
struct Text {
  std::string key;
  std::string value;
};

std::array<Text, kLabels> texts_of(std::size_t set) {
  static constexpr std::array<const char*, kLabels> kKeys{
      "http.route", "tenant.name", "deployment.zone", "feature.flag", "request.id"};
  std::array<Text, kLabels> texts;
  for (std::size_t i = 0; i < kLabels; ++i) {
    texts[i] = {kKeys[i], "value-of-" + std::to_string(set * (i + 1))};
  }
  texts.back().value.assign(kRequestDigits, '0');
  return texts;
}

std::string label_section(std::size_t set, std::size_t& request_offset) {
  ls_label_block block{};
  block.label_count = kLabels;
  std::string refs;
  std::string strings;
  for (const Text& text : texts_of(set)) {
    ls_label_ref ref{};
    ref.key_offset = static_cast<__u16>(strings.size());
    ref.key_length = static_cast<__u16>(text.key.size());
    strings += text.key;
    ref.value_offset = static_cast<__u16>(strings.size());
    ref.value_length = static_cast<__u16>(text.value.size());
    strings += text.value;
    append(refs, &ref, sizeof ref);
  }
  block.byte_count = static_cast<__u32>(strings.size());
  std::string section;
  append(section, &block, sizeof block);
  section += refs;
  request_offset = section.size() + strings.size() - kRequestDigits;
  section += strings;
  section.resize((section.size() + 7) & ~std::size_t{7});
  return section;
}

}  // namespace

// Goes through all combinations in an order in which neighbours have nothing in common.
std::vector<SyntheticRecords::Choice> SyntheticRecords::choose_all(std::size_t samples) {
  constexpr std::size_t kStride = 500009;  // a prime number: it meets every combination
  std::vector<Choice> choices(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    const std::size_t number = i * kStride % kCombinations;
    choices[i] = {static_cast<std::uint16_t>(number % kStacks),
                  static_cast<std::uint8_t>(number / kStacks % kLabelSets),
                  static_cast<std::uint8_t>(number / kStacks / kLabelSets)};
  }
  return choices;
}

std::vector<SyntheticRecords::Choice> SyntheticRecords::choose(Mix mix, std::size_t samples) {
  if (mix == Mix::kDistinct) return choose_all(samples);
  std::mt19937 random(1);
  auto weights = [&](std::size_t count) {
    std::vector<double> all(count, 1);
    // By Zipf's law the second is half as frequent as the first.
    for (std::size_t i = 0; mix != Mix::kEven && i < count; ++i) {
      all[i] = 1.0 / static_cast<double>(i + 1);
    }
    return all;
  };
  auto stack_weights = weights(kStacks);
  auto set_weights = weights(kLabelSets);
  std::discrete_distribution<unsigned> stack(stack_weights.begin(), stack_weights.end());
  std::discrete_distribution<unsigned> label_set(set_weights.begin(), set_weights.end());
  std::uniform_int_distribution<unsigned> thread(0, kThreads - 1);
  std::vector<Choice> choices(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    Choice& choice = choices[i];
    choice.stack = static_cast<std::uint16_t>(stack(random));
    choice.label_set = static_cast<std::uint8_t>(label_set(random));
    choice.thread = static_cast<std::uint8_t>(thread(random));
    // A request stays on one thread.
    if (mix == Mix::kRequests && i % kSamplesPerRequest != 0) {
      choice.label_set = choices[i - 1].label_set;
      choice.thread = choices[i - 1].thread;
    }
  }
  return choices;
}

SyntheticRecords::SyntheticRecords(Mix mix, std::size_t samples)
    : mix_(mix), choices_(choose(mix, samples)) {
  std::mt19937_64 random(2);
  std::uniform_int_distribution<std::uint64_t> address(kCodeStart, kCodeEnd - 1);
  std::vector<std::array<std::uint64_t, kFrames>> stacks(kStacks);
  for (auto& stack : stacks) {
    for (std::uint64_t& frame : stack) frame = address(random);
  }
  for (std::size_t set = 0; set < kLabelSets; ++set) {
    std::size_t request_offset = 0;
    const std::string labels = label_section(set, request_offset);
    for (const auto& stack : stacks) {
      ls_sample_head head{};
      head.record.type = LS_RECORD_SAMPLE;
      head.pid = kPid;
      std::memcpy(head.comm, "service", 8);
      head.stack.user_frames = kFrames;
      ls_label_head label_head{};
      label_head.outcome = LS_LABELLED;
      label_head.block_count = 1;
      label_head.size = static_cast<__u32>(labels.size());
      const std::size_t size = sizeof head + sizeof label_head + labels.size() + sizeof stack;
      head.record.size = static_cast<__u32>(size);
      std::string bytes;
      append(bytes, &head, sizeof head);
      append(bytes, &label_head, sizeof label_head);
      bytes += labels;
      append(bytes, stack.data(), sizeof stack);
      Template made{std::vector<std::uint64_t>(size / 8),
                    sizeof head + sizeof label_head + request_offset};
      std::memcpy(made.words.data(), bytes.data(), size);
      templates_.push_back(std::move(made));
    }
  }
}

std::span<const std::byte> SyntheticRecords::record(std::size_t i) {
  const Choice& choice = choices_[i % choices_.size()];
  Template& made = templates_[choice.label_set * kStacks + choice.stack];
  auto bytes = std::as_writable_bytes(std::span(made.words));
  const std::uint64_t time = 1000000000 + i * 1000;
  const std::uint32_t tid = kPid + choice.thread;
  // The kernel counts a period for each sample of a thread. They have about equally many.
  const std::uint64_t thread_ns = i / kThreads * kPeriodNs;
  std::memcpy(bytes.data() + offsetof(ls_sample_head, time_ns), &time, sizeof time);
  std::memcpy(bytes.data() + offsetof(ls_sample_head, tid), &tid, sizeof tid);
  std::memcpy(bytes.data() + offsetof(ls_sample_head, thread_ns), &thread_ns, sizeof thread_ns);
  if (mix_ == Mix::kRequests) {
    std::size_t request = i / kSamplesPerRequest;
    for (std::size_t digit = kRequestDigits; digit-- > 0; request /= 16) {
      bytes[made.request_offset + digit] = static_cast<std::byte>("0123456789abcdef"[request % 16]);
    }
  }
  return bytes;
}

}  // namespace labelscope::bench
