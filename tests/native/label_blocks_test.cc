// labelscope/label_blocks.h, by which other profilers decode labels. records_test.cc tests wrong
// sizes and offsets with the same code.
#include "labelscope/label_blocks.h"

#include <string>
#include <vector>

#include "native/label_memory.h"
#include "native/native_reader.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

constexpr Address kThreadPointer = 0x5000'0000;

ls_tls_recipe recipe_to(Address variable) {
  ls_tls_recipe recipe{};
  recipe.kind = LS_TP_OFFSET;
  recipe.offset = static_cast<std::int64_t>(variable - kThreadPointer);
  return recipe;
}

std::vector<unsigned char> labels_of(const LabelMemory& made,
                                     const std::vector<ls_tls_recipe>& recipes) {
  NativeReader reader(made.memory);
  reader.observe(recipes, kThreadPointer);
  std::vector<unsigned char> bytes(reader.record().size() - sizeof(ls_labels_head));
  std::memcpy(bytes.data(), reader.record().data() + sizeof(ls_labels_head), bytes.size());
  return bytes;
}

struct Shown {
  std::string key;
  std::string value;
  unsigned publisher;
  bool repeated;
  friend bool operator==(const Shown&, const Shown&) = default;
};

std::vector<Shown> all_of(const std::vector<unsigned char>& bytes, std::size_t offset = 0) {
  ls_label_cursor cursor;
  ls_label_view label;
  REQUIRE(ls_open_labels(&cursor, bytes.data() + offset, bytes.size() - offset) == nullptr);
  std::vector<Shown> shown;
  while (ls_next_label(&cursor, &label) != 0) {
    shown.push_back({{reinterpret_cast<const char*>(label.key), label.key_length},
                     {reinterpret_cast<const char*>(label.value), label.value_length},
                     label.publisher,
                     ls_is_repeated(&cursor, &label) != 0});
  }
  REQUIRE(ls_next_label(&cursor, &label) == 0);
  return shown;
}

}  // namespace

TEST_CASE("label_blocks: labels come in their order, and the second of equal keys is reported") {
  LabelMemory made;
  made.add("a", "1").add("", "no key text").add("a", "2").add("ab", "").add("a", "3").publish();
  REQUIRE(all_of(labels_of(made, {recipe_to(kVariable)})) ==
          std::vector<Shown>{{"a", "1", 0, false},
                             {"", "no key text", 0, false},
                             {"a", "2", 0, true},
                             {"ab", "", 0, false},
                             {"a", "3", 0, true}});
}

TEST_CASE("label_blocks: a key is repeated within its publisher only") {
  LabelMemory made;
  made.add("a", "1").publish();
  ls_tls_recipe none{};
  REQUIRE(all_of(labels_of(made, {recipe_to(kVariable), none, recipe_to(kVariable)})) ==
          std::vector<Shown>{{"a", "1", 0, false}, {"a", "1", 2, false}});
}

TEST_CASE("label_blocks: without labels there is nothing to show, at any alignment neither") {
  LabelMemory empty;
  empty.memory.put(kVariable, Address{0});
  REQUIRE(all_of(labels_of(empty, {recipe_to(kVariable)})).empty());

  LabelMemory made(Layout::kScattered);
  made.add("key", "value").add("other", "one").publish();
  const std::vector<unsigned char> bytes = labels_of(made, {recipe_to(kVariable)});
  for (std::size_t shift = 1; shift < 8; ++shift) {
    std::vector<unsigned char> shifted(shift);
    shifted.insert(shifted.end(), bytes.begin(), bytes.end());
    REQUIRE(all_of(shifted, shift) ==
            std::vector<Shown>{{"key", "value", 0, false}, {"other", "one", 0, false}});
  }
}

TEST_CASE("label_blocks: a raw block is one label without a key") {
  struct {
    ls_label_head head{0, LS_LABELLED, 2, 40, 0};
    ls_label_block raw{0, LS_SOURCE_THREAD_CONTEXT, 0, 3};
    char bytes[8] = {'r', 'a', 'w', 0, 0, 0, 0, 0};
    ls_label_block block{1, LS_SOURCE_CUSTOM_LABELS, 1, 2};
    ls_label_ref ref{0, 1, 1, 1};
    char strings[8] = {'k', 'v', 0, 0, 0, 0, 0, 0};
  } made;
  const auto opened = [&] {
    std::vector<unsigned char> bytes(sizeof(made));
    std::memcpy(bytes.data(), &made, sizeof(made));
    return bytes;
  };
  CHECK(all_of(opened()) == std::vector<Shown>{{"", "raw", 0, false}, {"k", "v", 1, false}});
  ls_label_cursor cursor;
  made.raw.label_count = 1;  // a reference would lie in the raw bytes
  CHECK(ls_open_labels(&cursor, opened().data(), sizeof(made)) != nullptr);
  made.raw.label_count = 0;
  made.raw.source = LS_SOURCE_COUNT;
  CHECK(ls_open_labels(&cursor, opened().data(), sizeof(made)) != nullptr);
}

TEST_CASE("label_blocks: a block without labels is passed over") {
  struct {
    ls_label_head head{0, LS_LABELLED, 3, 40, 0};
    ls_label_block empty{0, 0, 0, 0};
    ls_label_block block{1, 0, 1, 2};
    ls_label_ref ref{0, 1, 1, 1};
    char bytes[8] = {'k', 'v', 0, 0, 0, 0, 0, 0};
    ls_label_block last{2, 0, 0, 0};
  } made;
  std::vector<unsigned char> bytes(sizeof(made));
  std::memcpy(bytes.data(), &made, sizeof(made));
  REQUIRE(all_of(bytes) == std::vector<Shown>{{"k", "v", 1, false}});
}

TEST_CASE("label_blocks: what is wrong is said in words, and then nothing is shown") {
  LabelMemory made;
  made.add("a", "1").publish();
  const std::vector<unsigned char> bytes = labels_of(made, {recipe_to(kVariable)});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ls_label_cursor cursor;
    ls_label_view label;
    const char* problem = ls_open_labels(&cursor, bytes.data(), size);
    REQUIRE(problem != nullptr);
    REQUIRE(problem[0] != '\0');
    REQUIRE(ls_next_label(&cursor, &label) == 0);
  }
}
