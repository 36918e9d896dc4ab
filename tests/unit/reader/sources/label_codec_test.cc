// Tests label bytes, by which a sample's labels are interned.
#include "sources/label_codec.h"

#include <cstring>

#include "labelscope/process_facts.h"
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
  std::vector<std::byte> bytes;
  append_label_bytes(labels, bytes);
  const Observation seen = decode_label_bytes(bytes);
  CHECK(seen.outcome == LS_LABELLED);
  CHECK(seen.labels == labels);
  CHECK(seen.flags == 0);

  const Observation none = decode_label_bytes({});
  CHECK(none.outcome == LS_UNLABELLED);
  CHECK(none.labels.empty());
}

TEST_CASE("label_codec: different labels are different bytes") {
  const auto bytes_of = [](const LabelSet& labels) {
    std::vector<std::byte> bytes;
    append_label_bytes(labels, bytes);
    return bytes;
  };
  CHECK(bytes_of({make_label("ab", "c", 0)}) != bytes_of({make_label("a", "bc", 0)}));
  CHECK(bytes_of({make_label("a", "b", 0)}) != bytes_of({make_label("a", "b", 1)}));
  CHECK(bytes_of({make_label("a", "", 0), make_label("b", "", 0)}) !=
        bytes_of({make_label("a", "b", 0)}));
}

TEST_CASE("label_codec: of equal keys of a publisher the first counts, and publishers are merged") {
  std::vector<std::byte> bytes;
  append_label_bytes({make_label("k", "1", 0), make_label("k", "2", 0), make_label("k", "3", 1),
                      make_label("x", "4", 1), make_label("x", "4", 2)},
                     bytes);
  const Observation seen = decode_label_bytes(bytes);
  CHECK(seen.labels ==
        LabelSet{make_label("k", "1", 0), make_label("k", "3", 1), make_label("x", "4", 1)});
  CHECK(seen.flags == (LS_DUPLICATE_KEY | LS_KEY_CONFLICT));
}

TEST_CASE("label_codec: bytes that break off end there") {
  std::vector<std::byte> bytes;
  append_label_bytes({make_label("first", "1", 0), make_label("second", "2", 0)}, bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK(decode_label_bytes(std::span(bytes).first(size)).labels.size() <= 1);
  }
}

TEST_CASE("label_codec: raw bytes that are not their source's are no labels") {
  struct {
    ls_label_head head{0, LS_LABELLED, 1, 72, 0};
    ls_label_block raw{0, LS_SOURCE_THREAD_CONTEXT, 0, 64};
    std::uint64_t context[8] = {1, 2, 3, 4, 5, 6, 7, 8};  // 3 is not the checksum of 1 and 2
  } made;
  auto opened = open_labels(std::as_bytes(std::span(&made, 1)));
  REQUIRE(opened);
  const Observation seen = observation_of(*opened);
  CHECK(seen.outcome == LS_UNREADABLE_MALFORMED);
  CHECK(seen.labels.empty());
}

TEST_CASE("label_codec: raw blocks are decoded by what the process says") {
  struct {
    ls_label_head head{0, LS_LABELLED, 1, 40, 0};
    ls_label_block raw{0, LS_SOURCE_OTEL_CONTEXT, 0, 31};
    unsigned char record[32] = {};
  } made;
  made.record[24] = 1;  // valid
  made.record[26] = 3;  // bytes of attributes: key 0 with the value "v"
  made.record[29] = 1;
  made.record[30] = 'v';
  auto opened = open_labels(std::as_bytes(std::span(&made, 1)));
  REQUIRE(opened);
  CHECK(observation_of(*opened).outcome == LS_UNREADABLE_NO_KEYS);
  CHECK(observation_of(*opened).flags == LS_UNKNOWN_KEY);
  ProcessFacts facts;
  facts.keys = {"route"};
  CHECK(observation_of(*opened, {&facts}).labels == LabelSet{make_label("route", "v", 0)});
}

}  // namespace labelscope::test
