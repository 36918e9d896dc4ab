#include "cli/profile/index_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <random>

namespace labelscope::cli {
namespace {

std::uint64_t seed() {
  static const std::uint64_t value = std::random_device{}() * 0x9E3779B97F4A7C15ULL;
  return value;
}

}  // namespace

std::uint64_t hash_of_bytes(std::string_view bytes) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed());
}

std::uint64_t hash_of(const LabelSet& labels) {
  std::uint64_t hash = seed();
  for (const Label& label : labels) {
    hash = XXH3_64bits_withSeed(label.key.data(), label.key.size(), hash + label.publisher);
    hash = XXH3_64bits_withSeed(label.value.data(), label.value.size(), hash);
  }
  return hash;
}

std::uint64_t hash_of(const Stack& stack) {
  return XXH3_64bits_withSeed(stack.frames.data(), stack.frames.size() * sizeof(Index),
                              seed() + stack.end);
}

std::size_t HashOfWaitGroup::operator()(const WaitGroup& group) const {
  const std::uint32_t words[3] = {group.process, group.label_set,
                                  (std::uint32_t{group.value} << 8) | group.outcome};
  return XXH3_64bits_withSeed(words, sizeof words, seed());
}

std::uint64_t hash_of(const SampleRow& row) {
  const std::uint32_t words[4] = {
      row.thread, row.stack, row.label_set,
      (std::uint32_t{row.flags} << 16) | (std::uint32_t{row.value} << 8) | row.outcome};
  return XXH3_64bits_withSeed(words, sizeof words, seed());
}

bool same_row(const SampleRow& a, const SampleRow& b) {
  return a.thread == b.thread && a.stack == b.stack && a.label_set == b.label_set &&
         a.flags == b.flags && a.outcome == b.outcome && a.value == b.value;
}

}  // namespace labelscope::cli
