// ProfileBuilder. The path of a sample that resembles an earlier one is: two hash look-ups of its
// raw bytes (stack, labels), one of its thread, one of its row. Everything else happens once for
// each new value.
#include "cli/profile/profile_builder.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace labelscope::cli {
namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // NOLINT: bytes are bytes
}

}  // namespace

std::size_t ByteCache::Hash::operator()(std::string_view bytes) const {
  return XXH3_64bits(bytes.data(), bytes.size());
}

const Index* ByteCache::find(std::string_view bytes) const {
  auto found = index_.find(bytes);
  return found == index_.end() ? nullptr : &found->second;
}

void ByteCache::insert(std::string_view bytes, Index value) {
  if (stored_bytes_ + bytes.size() > kMaxBytes) clear();
  stored_bytes_ += bytes.size();
  stored_.emplace_back(bytes);
  index_.emplace(stored_.back(), value);
}

void ByteCache::clear() {
  index_.clear();
  stored_.clear();
  stored_bytes_ = 0;
}

std::size_t ProfileBuilder::RowKeyHash::operator()(const RowKey& key) const {
  struct Packed {
    std::uint32_t words[4];
  } packed{{key.thread, key.stack, key.label_set,
            (static_cast<std::uint32_t>(key.flags) << 8) | key.outcome}};
  return XXH3_64bits(&packed, sizeof packed);
}

std::size_t ProfileBuilder::IndexVectorHash::operator()(const std::vector<Index>& indices) const {
  return XXH3_64bits(indices.data(), indices.size() * sizeof(Index));
}

void ProfileBuilder::add(const SampleView& sample, ProcessContext& process) {
  if (process.caches.address_epoch != process.address_epoch()) {
    process.caches.address_epoch = process.address_epoch();
    process.caches.user_stacks.clear();
    process.caches.locations.clear();
  }
  if (process.caches.publisher_epoch != process.publisher_epoch()) {
    process.caches.publisher_epoch = process.publisher_epoch();
    process.caches.labels.clear();
  }
  RowKey key{};
  key.thread = intern_thread(sample, process);
  key.stack = intern_stack(sample, process);
  const Decoded& labels = decode(sample, process);
  key.label_set = labels.label_set;
  key.flags = static_cast<std::uint16_t>(sample.flags | labels.flags);
  key.outcome = static_cast<std::uint8_t>(sample.outcome);
  ++samples_;
  if (sample.outcome == LS_LABELLED) ++labelled_;

  if (!keep_each_sample_) {
    auto [row, fresh] = rows_.try_emplace(key, static_cast<Index>(profile_.rows.size()));
    if (!fresh) {
      ++profile_.rows[row->second].count;
      return;
    }
  }
  SampleRow row;
  row.time_ns = keep_each_sample_ ? sample.time_ns : 0;
  row.thread = key.thread;
  row.stack = key.stack;
  row.label_set = key.label_set;
  row.flags = key.flags;
  row.outcome = key.outcome;
  profile_.rows.push_back(row);
}

Index ProfileBuilder::intern_thread(const SampleView& sample, ProcessContext& process) {
  auto [known, fresh] = process.caches.threads.try_emplace(
      raw(sample.tid), static_cast<Index>(profile_.threads.size()));
  if (fresh) profile_.threads.push_back({sample.pid, sample.tid, std::string(sample.comm)});
  Thread& thread = profile_.threads[known->second];
  if (thread.name != sample.comm) thread.name = sample.comm;
  return known->second;
}

Index ProfileBuilder::intern_stack(const SampleView& sample, ProcessContext& process) {
  scratch_.clear();
  scratch_.append(as_text(std::as_bytes(sample.kernel_stack)));
  scratch_.append(as_text(std::as_bytes(sample.user_stack)));
  scratch_.push_back(static_cast<char>(sample.kernel_stack.size()));  // where the one ends
  if (const Index* known = process.caches.user_stacks.find(scratch_)) return *known;

  Stack stack;
  stack.reserve(sample.kernel_stack.size() + sample.user_stack.size());
  bool leaf = true;
  for (std::uint64_t address : sample.kernel_stack) {
    stack.push_back(intern_location(leaf ? address : address - 1, process.kernel_module()));
    leaf = false;
  }
  leaf = true;
  for (std::uint64_t address : sample.user_stack) {
    // A return address points behind the call, perhaps into the next line or function.
    Address inside = leaf ? address : address - 1;
    leaf = false;
    auto [known, fresh] = process.caches.locations.try_emplace(inside, kNoIndex);
    if (fresh) known->second = intern_location(inside, process.module_at(inside));
    stack.push_back(known->second);
  }
  auto [known, fresh] =
      stacks_.try_emplace(std::move(stack), static_cast<Index>(profile_.stacks.size()));
  if (fresh) profile_.stacks.push_back(known->first);
  process.caches.user_stacks.insert(scratch_, known->second);
  return known->second;
}

Index ProfileBuilder::intern_location(Address address, Index module) {
  auto [known, fresh] =
      locations_.try_emplace({module, address}, static_cast<Index>(profile_.locations.size()));
  if (fresh) {
    Location location;
    location.module = module;
    location.address = address;
    profile_.locations.push_back(std::move(location));
  }
  return known->second;
}

const ProfileBuilder::Decoded& ProfileBuilder::decode(const SampleView& sample,
                                                      ProcessContext& process) {
  std::string_view bytes = as_text(sample.label_key);
  if (const Index* known = process.caches.labels.find(bytes)) return decoded_[*known];
  Observation observation = sample.decode_labels(sample.label_key);
  for (Label& label : observation.labels) label.publisher = process.publisher(label.publisher);
  auto index = static_cast<Index>(decoded_.size());
  decoded_.push_back({intern_label_set(std::move(observation.labels)), observation.flags});
  process.caches.labels.insert(bytes, index);
  return decoded_.back();
}

Index ProfileBuilder::intern_label_set(LabelSet labels) {
  std::sort(labels.begin(), labels.end());  // a set: the order of its elements says nothing
  auto [known, fresh] =
      label_sets_.try_emplace(std::move(labels), static_cast<Index>(profile_.label_sets.size()));
  if (fresh) profile_.label_sets.push_back(known->first);
  return known->second;
}

Profile ProfileBuilder::take() { return std::move(profile_); }

}  // namespace labelscope::cli
