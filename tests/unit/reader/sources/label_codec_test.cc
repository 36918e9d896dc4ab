// Label keys: what a sample's labels are interned by.
#include "labelscope/label_codec.h"

#include <cstring>

#include "support/catch.h"

namespace labelscope::test {
namespace {

Label make_label(std::string key, std::string value, std::uint8_t publisher) {
  return {std::move(key), std::move(value), publisher};
}

}  // namespace

TEST_CASE("label_codec: labels come back as they were, whatever their bytes are") {
  const LabelSet labels{make_label("tenant", "acme", 0), make_label("", "", 0),
                        make_label(std::string("k\0\xff", 3), std::string(4096, '\0'), 3)};
  std::vector<std::byte> key;
  append_label_key(labels, key);
  const Observation seen = decode_label_key(key);
  CHECK(seen.outcome == LS_LABELLED);
  CHECK(seen.labels == labels);
  CHECK(seen.flags == 0);

  const Observation none = decode_label_key({});
  CHECK(none.outcome == LS_UNLABELLED);
  CHECK(none.labels.empty());
}

TEST_CASE("label_codec: different labels are different bytes") {
  const auto key_of = [](const LabelSet& labels) {
    std::vector<std::byte> key;
    append_label_key(labels, key);
    return key;
  };
  CHECK(key_of({make_label("ab", "c", 0)}) != key_of({make_label("a", "bc", 0)}));
  CHECK(key_of({make_label("a", "b", 0)}) != key_of({make_label("a", "b", 1)}));
  CHECK(key_of({make_label("a", "", 0), make_label("b", "", 0)}) !=
        key_of({make_label("a", "b", 0)}));
}

TEST_CASE("label_codec: of equal keys of a publisher the first counts, and publishers are merged") {
  std::vector<std::byte> key;
  append_label_key({make_label("k", "1", 0), make_label("k", "2", 0), make_label("k", "3", 1),
                    make_label("x", "4", 1), make_label("x", "4", 2)},
                   key);
  const Observation seen = decode_label_key(key);
  CHECK(seen.labels ==
        LabelSet{make_label("k", "1", 0), make_label("k", "3", 1), make_label("x", "4", 1)});
  CHECK(seen.flags == (LS_DUPLICATE_KEY | LS_KEY_CONFLICT));
}

TEST_CASE("label_codec: a key that breaks off ends there") {
  std::vector<std::byte> key;
  append_label_key({make_label("first", "1", 0), make_label("second", "2", 0)}, key);
  for (std::size_t size = 0; size < key.size(); ++size) {
    CHECK(decode_label_key(std::span(key).first(size)).labels.size() <= 1);
  }
}

}  // namespace labelscope::test
