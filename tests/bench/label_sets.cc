// Keys and values have 16 to 32 bytes, 24 on average. ("http.route" is shorter, a trace ID longer.)
#include "label_sets.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>

#include "customlabels/customlabels.h"
#undef custom_labels_current_set  // the variable's own address is needed

namespace labelscope::bench {
namespace {

// The benchmark's own publisher, beside the one of libcustomlabels.
thread_local custom_labels_labelset_t* own_current_set = nullptr;

// Allocations of sets. They are never freed, because the next set must not reuse the same holes.
using Bytes = std::unique_ptr<unsigned char[]>;
std::vector<Bytes>& kept() {
  static std::vector<Bytes> all;
  return all;
}

custom_labels_label_t* keep(std::vector<custom_labels_label_t> elements) {
  static std::deque<std::vector<custom_labels_label_t>> all;
  return all.emplace_back(std::move(elements)).data();
}

unsigned char* allocate(std::size_t size) {
  kept().push_back(std::make_unique<unsigned char[]>(size));
  return kept().back().get();
}

struct Text {
  std::string key;
  std::string value;
};

std::size_t length_of(std::size_t index) { return 16 + (index * 7) % 17; }

std::vector<Text> make_texts(std::size_t labels) {
  std::vector<Text> texts;
  for (std::size_t i = 0; i < labels; ++i) {
    Text text{"key-" + std::to_string(i), "value-" + std::to_string(i)};
    text.key.resize(length_of(2 * i), '.');
    text.value.resize(length_of(2 * i + 1), '.');
    texts.push_back(std::move(text));
  }
  return texts;
}

// Makes a heap like that of a program that has run for some time: many blocks of string size, half
// of them free again, in no order.
void make_holes() {
  static std::vector<Bytes> blocks;
  if (!blocks.empty()) return;
  constexpr std::size_t kBlocks = 20000;
  std::mt19937 random(1);
  std::uniform_int_distribution<std::size_t> size(16, 160);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(std::make_unique<unsigned char[]>(size(random)));
  }
  std::shuffle(blocks.begin(), blocks.end(), random);
  blocks.resize(kBlocks / 2);
}

custom_labels_string_t copy_to(unsigned char* place, const std::string& text) {
  std::copy(text.begin(), text.end(), place);
  return {text.size(), place};
}

custom_labels_label_t* make_scattered(const std::vector<Text>& texts) {
  make_holes();
  // Successive allocations come from neighbouring holes, so a set is made from many more
  // allocations than it has strings.
  constexpr std::size_t kApart = 41;
  auto one = [](const std::string& text) {
    for (std::size_t i = 0; i < kApart; ++i) allocate(text.size());
    return copy_to(allocate(text.size()), text);
  };
  std::vector<custom_labels_label_t> elements;
  elements.reserve(texts.size());
  for (const Text& text : texts) elements.push_back({one(text.key), one(text.value)});
  return keep(std::move(elements));
}

custom_labels_label_t* make_contiguous(const std::vector<Text>& texts) {
  unsigned char* place = allocate(label_bytes(texts.size()));
  auto next = [&](const std::string& text) {
    custom_labels_string_t copied = copy_to(place, text);
    place += text.size();
    return copied;
  };
  std::vector<custom_labels_label_t> elements;
  elements.reserve(texts.size());
  for (const Text& text : texts) elements.push_back({next(text.key), next(text.value)});
  return keep(std::move(elements));
}

custom_labels_string_t view_of(const std::string& text) {
  return {text.size(), reinterpret_cast<const unsigned char*>(text.data())};
}

Status publish_through_writer(const std::vector<Text>& texts) {
  custom_labels_labelset_t* set = custom_labels_new(texts.size());
  for (const Text& text : texts) {
    if (custom_labels_set(set, view_of(text.key), view_of(text.value), nullptr) != 0) {
      return Error{ErrorCode::kLimit, "libcustomlabels did not take a label"};
    }
  }
  custom_labels_free(custom_labels_replace(set));
  return {};
}

ls_tls_recipe recipe_to(const void* variable) {
  ls_tls_recipe recipe{};
  recipe.kind = LS_TP_OFFSET;
  recipe.offset =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(variable) -
                                reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer()));
  return recipe;
}

}  // namespace

std::string_view layout_name(Layout layout) {
  switch (layout) {
    case Layout::kScattered:
      return "scattered";
    case Layout::kContiguous:
      return "contiguous";
    case Layout::kWriter:
      return "our writer";
  }
  return "unknown";
}

std::vector<SetKind> all_set_kinds() {
  std::vector<SetKind> kinds;
  for (Layout layout : {Layout::kScattered, Layout::kContiguous, Layout::kWriter}) {
    for (std::size_t labels : {2, 5, 10, 32}) {
      if (layout == Layout::kWriter && labels > CUSTOM_LABELS_THREAD_MAX_LABELS) continue;
      kinds.push_back({layout, labels});
    }
  }
  return kinds;
}

std::size_t label_bytes(std::size_t labels) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < 2 * labels; ++i) bytes += length_of(i);
  return bytes;
}

Result<ls_tls_recipe> publish(const SetKind& kind) {
  const std::vector<Text> texts = make_texts(kind.labels);
  if (kind.layout == Layout::kWriter) {
    if (Status status = publish_through_writer(texts); !status) return std::move(status).error();
    return recipe_to(&custom_labels_current_set);
  }
  custom_labels_label_t* storage =
      kind.layout == Layout::kScattered ? make_scattered(texts) : make_contiguous(texts);
  static std::deque<custom_labels_labelset_t> sets;
  own_current_set =
      &sets.emplace_back(custom_labels_labelset_t{storage, texts.size(), texts.size()});
  return recipe_to(&own_current_set);
}

}  // namespace labelscope::bench
