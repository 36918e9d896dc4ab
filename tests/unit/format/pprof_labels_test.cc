// Tests labels in pprof: hostile bytes, keys that collide, numbers that disappear.
#include <algorithm>
#include <array>
#include <cstdio>

#include "support/catch.h"
#include "unit/format/pprof_decoded.h"
#include "unit/format/profile_maker.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;
using namespace std::string_literals;

namespace {

// Returns the labels that a sample with this set gets.
DecodedSample rendered(const std::vector<std::pair<std::string, std::string>>& pairs) {
  SmallProfile small;
  small.labelled(pairs);
  return decode_rendered(small.profile).only();
}

}  // namespace

TEST_CASE("pprof_labels: the decoder of these tests refuses a string that is not UTF-8") {
  std::string text;
  // The bytes are string_table (field 6, length-delimited) with a length of one.
  CHECK(
      protoc_decode("\x32\x01"
                    "a",
                    text));
  CHECK_FALSE(protoc_decode("\x32\x01\xff", text));
}

TEST_CASE("pprof_labels: labels are strings, ours stand beside them") {
  const DecodedSample sample = rendered({{"http.route", "/pay"}, {"tenant", "42"}, {"zero", "0"}});
  CHECK(sample.labels.size() == 7);
  CHECK(sample.text("http.route") == "/pay");
  CHECK(sample.text("tenant") == "42");
  CHECK(sample.text("zero") == "0");
  CHECK(sample.labels.at("pid").number == 100);
  CHECK(sample.labels.at("thread_id").number == 101);
  CHECK(sample.text("thread_name") == "worker");
  CHECK(sample.text("comm") == "shop");
}

TEST_CASE(
    "pprof_labels: all 256 bytes arrive, control characters and those outside UTF-8 in "
    "hexadecimal") {
  std::string all;
  std::string expected;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
    if (byte >= 0x20 && byte < 0x7F) {
      expected += static_cast<char>(byte);
    } else {
      std::array<char, 5> hex;
      std::snprintf(hex.data(), hex.size(), "\\x%02x", static_cast<unsigned>(byte));
      expected += hex.data();
    }
  }
  CHECK(rendered({{"bytes", all}}).text("bytes") == expected);
  CHECK(rendered({{"\xfe", "x"}}).text("\\xfe") == "x");
}

TEST_CASE("pprof_labels: nothing that a label holds can steer the terminal of pprof") {
  const DecodedSample sample = rendered({{"k", "\033[2J\xe2\x80\xae"}, {"a\nb", "v"}});
  CHECK(sample.text("k") == "\\x1b[2J\\u{202e}");
  CHECK(sample.text("a\\x0ab") == "v");
}

TEST_CASE("pprof_labels: commas, quotes and other text stay as they are") {
  for (const std::string& value : {"a,b"s, "=,="s, "\"q\""s, "gr\xc3\xbc\xc3\x9f"s, "^/b$"s}) {
    const DecodedSample sample = rendered({{"k", value}, {value, "v"}});
    CHECK(sample.text("k") == value);
    CHECK(sample.text(value) == "v");
  }
}

TEST_CASE("pprof_labels: an empty value or key is reported, since pprof drops empty strings") {
  const DecodedSample sample = rendered({{"k", ""}, {"", "v"}});
  CHECK(sample.text("k") == "<empty>");
  CHECK(sample.text("<empty>") == "v");
}

TEST_CASE("pprof_labels: the longest labels of the fixed-buffer writer arrive whole") {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (char i = 0; i < 10; ++i) {
    const char letter = static_cast<char>('a' + i);
    pairs.emplace_back(std::string(128, letter), std::string(256, letter));
  }
  const DecodedSample sample = rendered(pairs);
  for (const auto& [key, value] : pairs) CHECK(sample.text(key) == value);
}

TEST_CASE("pprof_labels: a user label keeps its key, ours moves aside as often as it must") {
  const DecodedSample sample = rendered({{"pid", "p"},
                                         {"labelscope.pid", "q"},
                                         {"comm", "c"},
                                         {"thread_id", "i"},
                                         {"thread_name", "n"}});
  CHECK(sample.text("pid") == "p");
  CHECK(sample.text("labelscope.pid") == "q");
  CHECK(sample.labels.at("labelscope.labelscope.pid").number == 100);
  CHECK(sample.text("comm") == "c");
  CHECK(sample.text("labelscope.comm") == "shop");
  CHECK(sample.labels.at("labelscope.thread_id").number == 101);
  CHECK(sample.text("labelscope.thread_name") == "worker");
}

TEST_CASE("pprof_labels: a label takes the key from its own samples, and no others of the thread") {
  SmallProfile small;
  small.labelled({{"a", "1"}});
  small.labelled({{"pid", "p"}});
  small.labelled({{"a", "2"}});
  const DecodedPprof pprof = decode_rendered(small.profile);
  REQUIRE(pprof.samples.size() == 3);
  CHECK(pprof.samples[1].text("pid") == "p");
  CHECK(pprof.samples[1].labels.at("labelscope.pid").number == 100);
  for (const std::size_t other : {0, 2}) {
    CHECK(pprof.samples[other].labels.at("pid").number == 100);
    CHECK(pprof.samples[other].labels.count("labelscope.pid") == 0);
  }
}

TEST_CASE("pprof_labels: threads with one label set keep their names, and their outcomes") {
  SmallProfile small;
  const Index other = small.thread(100, 102, "other");
  const Index set = small.labels({{"a", "1"}});
  small.sample(small.shop_thread, small.work_stack, set, LS_LABELLED, 0);
  small.sample(other, small.work_stack, set, LS_LABELLED, 0);
  small.sample(other, small.work_stack, set, LS_LABELLED, LS_TRUNCATED_BYTES);
  small.sample(kNoIndex, small.work_stack, set, LS_LABELLED, 0);
  const DecodedPprof pprof = decode_rendered(small.profile);
  REQUIRE(pprof.samples.size() == 4);
  for (const DecodedSample& sample : pprof.samples) CHECK(sample.text("a") == "1");
  CHECK(pprof.samples[0].text("thread_name") == "worker");
  CHECK(pprof.samples[1].text("thread_name") == "other");
  CHECK(pprof.samples[1].labels.count("labelscope.truncated") == 0);
  CHECK(pprof.samples[2].text("thread_name") == "other");
  CHECK(pprof.samples[2].text("labelscope.truncated") == "bytes");
  CHECK(pprof.samples[3].labels.size() == 1);
}

TEST_CASE("pprof_labels: keys that pprof keeps for itself lose their meaning") {
  const DecodedSample sample = rendered({{"pprof::base", "true"}});
  CHECK(sample.labels.count("pprof::base") == 0);
  CHECK(sample.text("user.pprof::base") == "true");
}

TEST_CASE("pprof_labels: process and thread 0 do not vanish") {
  ProfileMaker maker;
  maker.process(0, "swapper");
  maker.sample(maker.thread(0, 0, "swapper/0"), kNoIndex, kNoIndex, LS_UNLABELLED);
  const DecodedPprof pprof = decode_rendered(maker.profile);
  const DecodedSample& sample = pprof.only();
  CHECK(sample.labels.at("pid").number == 0);
  CHECK(sample.labels.at("pid").unit == "pid");
  CHECK(sample.labels.at("thread_id").unit == "thread_id");
}

TEST_CASE("pprof_labels: an unreadable sample is not taken for an unlabelled one") {
  SmallProfile small;
  small.sample(small.shop_thread, small.work_stack, small.no_labels, LS_UNLABELLED);
  for (unsigned outcome = LS_UNLABELLED + 1; outcome < LS_OUTCOME_COUNT; ++outcome) {
    small.sample(small.shop_thread, small.work_stack, small.no_labels, outcome);
  }
  const DecodedPprof pprof = decode_rendered(small.profile);
  REQUIRE(pprof.samples.size() == LS_OUTCOME_COUNT - 1);
  CHECK(pprof.samples[0].text("labelscope.outcome") == "(missing)");
  for (unsigned outcome = LS_UNLABELLED + 1; outcome < LS_OUTCOME_COUNT; ++outcome) {
    CHECK(pprof.samples[outcome - 1].text("labelscope.outcome") == outcome_name(outcome));
  }
}

TEST_CASE("pprof_labels: what was cut and what was odd about a label set is reported") {
  SmallProfile small;
  const Index set = small.labels({{"a", "1"}});
  small.sample(small.shop_thread, small.work_stack, set, LS_LABELLED);
  small.sample(small.shop_thread, small.work_stack, set, LS_LABELLED,
               LS_TRUNCATED_LABELS | LS_TRUNCATED_BYTES | LS_TRUNCATED_SLOTS);
  small.sample(small.shop_thread, small.work_stack, set, LS_LABELLED,
               LS_NULL_VALUE | LS_DUPLICATE_KEY | LS_RETRIED);
  const DecodedPprof pprof = decode_rendered(small.profile);
  std::vector<std::string> told;
  for (const DecodedSample& sample : pprof.samples) {
    told.push_back(sample.text("labelscope.truncated") + " " + sample.text("labelscope.flags"));
  }
  std::sort(told.begin(), told.end());
  CHECK(told == std::vector<std::string>{"(missing) (missing)",
                                         "(missing) null-value|duplicate-key",
                                         "labels|bytes|slots (missing)"});
}

TEST_CASE("pprof_labels: where two publishers disagree, each value names its source") {
  SmallProfile small;
  small.profile.processes[0].publishers.push_back("/opt/shop/plugins/other.so");
  small.sample(small.shop_thread, small.work_stack,
               small.label_set(LabelSet{{"same", "s", 0},
                                        {"route", "/a", 0},
                                        {"same", "s", 1},
                                        {"route", "/b", 1},
                                        {"own", "o", 1}}),
               LS_LABELLED, LS_KEY_CONFLICT);
  const DecodedPprof pprof = decode_rendered(small.profile);
  const DecodedSample& sample = pprof.only();
  CHECK(sample.text("same") == "s");
  CHECK(sample.labels.count("same@other.so") == 0);
  CHECK(sample.labels.count("same@libshop.so") == 0);
  CHECK(sample.text("route") == "/a");
  CHECK(sample.text("route@libshop.so") == "/a");
  CHECK(sample.text("route@other.so") == "/b");
  CHECK(sample.text("own") == "o");
  CHECK(sample.labels.count("own@other.so") == 0);
  CHECK(sample.text("labelscope.flags") == "key-conflict");
}

TEST_CASE("pprof_labels: a copy of a file has the same name in every sample") {
  SmallProfile small;
  auto& publishers = small.profile.processes[0].publishers;
  publishers = {"/opt/shop/shop", "/opt/shop/libx.so", "/opt/shop/libx.so"};
  for (const std::uint8_t copy : {std::uint8_t{1}, std::uint8_t{2}}) {
    small.sample(small.shop_thread, small.work_stack,
                 small.label_set(LabelSet{{"k", "exe", 0}, {"k", "library", copy}}), LS_LABELLED,
                 LS_KEY_CONFLICT);
  }
  const DecodedPprof pprof = decode_rendered(small.profile);
  REQUIRE(pprof.samples.size() == 2);
  CHECK(pprof.samples[0].text("k@libx.so") == "library");
  CHECK(pprof.samples[1].text("k@libx.so#2") == "library");
  CHECK(pprof.samples[1].labels.count("k@libx.so") == 0);
}

TEST_CASE("pprof_labels: keys that escape to the same text stay apart") {
  const DecodedSample sample =
      rendered({{"\xff", "bytes"}, {"\\xff", "text"}, {"\\xff@libshop.so", "third"}});
  CHECK(sample.text("\\xff") == "bytes");
  CHECK(sample.text("\\xff@libshop.so") == "text");
  CHECK(sample.text("\\xff@libshop.so@libshop.so") == "third");
}

TEST_CASE("pprof_labels: a publisher that the profile does not know has its number as its name") {
  SmallProfile small;
  small.sample(
      small.shop_thread, small.work_stack,
      small.label_set(LabelSet{{"k", "0", 0}, {"k", "1", 200}, {"k", "2", 200}, {"k", "3", 200}}),
      LS_LABELLED);
  const DecodedPprof pprof = decode_rendered(small.profile);
  const DecodedSample& sample = pprof.only();
  CHECK(sample.text("k@200") == "1");
  CHECK(sample.text("k@200#2") == "2");
  CHECK(sample.text("k@200#3") == "3");
}
