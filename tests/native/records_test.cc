// bpf/wire/records.cc: every sequence of bytes gives a record or an error.
#include <cstring>
#include <random>

#include "native/label_memory.h"
#include "native/native_reader.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

// Makes a SAMPLE record with one label and three addresses, as 8-aligned words.
std::vector<std::uint64_t> sample_words() {
  struct {
    ls_sample_head sample{};
    ls_label_head head{};
    ls_label_block block{0, 0, 1, 5};
    ls_label_ref ref{0, 2, 2, 3};
    char bytes[8] = {'i', 'd', 'a', 'b', 'c', 0, 0, 0};
    std::uint64_t stack[3] = {0x1111, 0x2222, 0xffffffff80000000};
  } made;
  made.sample.record = {sizeof(made), LS_RECORD_SAMPLE};
  made.sample.time_ns = 5;
  made.sample.thread_ns = 7;
  made.sample.weight_ns = 9;
  made.sample.kind = LS_WAITING;
  made.sample.pid = 12;
  made.sample.life = 14;
  made.sample.list = 15;
  made.sample.tid = 13;
  std::memcpy(made.sample.comm, "sixteen-bytes-xx", LS_COMM_SIZE);
  made.sample.stack = {2, 1, LS_STACK_CHAIN_ENDED, 0};
  made.head.outcome = LS_LABELLED;
  made.head.block_count = 1;
  made.head.size = 24;
  std::vector<std::uint64_t> words(sizeof(made) / 8);
  std::memcpy(words.data(), &made, sizeof(made));
  return words;
}

template <class T>
T& at(std::vector<std::uint64_t>& words, std::size_t offset) {
  return *reinterpret_cast<T*>(reinterpret_cast<std::byte*>(words.data()) + offset);
}

// Makes the sample with this number of frames, all of which are there, so that its size is right.
std::vector<std::uint64_t> sample_of_frames(std::uint32_t user, std::uint32_t kernel) {
  auto words = sample_words();
  words.resize(words.size() - 3 + user + kernel, 0x1111);
  at<ls_record_head>(words, 0).size = static_cast<std::uint32_t>(words.size() * 8);
  at<ls_sample_head>(words, 0).stack.user_frames = user;
  at<ls_sample_head>(words, 0).stack.kernel_frames = kernel;
  return words;
}

// Makes an answer to a sample: the sample's labels behind another head.
std::vector<std::uint64_t> answer_words() {
  const auto sample = sample_words();
  std::vector<std::uint64_t> words(sizeof(ls_labels_head) / 8);
  words.insert(words.end(), sample.begin() + sizeof(ls_sample_head) / 8, sample.end() - 3);
  auto& head = at<ls_labels_head>(words, 0);
  head.record = {static_cast<std::uint32_t>(words.size() * 8), LS_RECORD_LABELS};
  head.retry_id = 7;
  return words;
}

Result<Record> decode(const std::vector<std::uint64_t>& words) {
  return decode_record(std::as_bytes(std::span(words)));
}

constexpr std::size_t kHead = sizeof(ls_sample_head);
constexpr std::size_t kBlock = kHead + sizeof(ls_label_head);
constexpr std::size_t kRef = kBlock + sizeof(ls_label_block);

}  // namespace

TEST_CASE("records: a sample is taken apart into who, when, where and labels") {
  auto words = sample_words();
  auto record = decode(words);
  REQUIRE(record);
  const auto& sample = std::get<SampleRecord>(*record);
  REQUIRE(sample.time_ns == 5);
  REQUIRE(sample.thread_ns == 7);
  REQUIRE(sample.weight_ns == 9);
  REQUIRE(sample.kind == LS_WAITING);
  REQUIRE(sample.process == (ProcessKey{Pid{12}, 14}));
  REQUIRE(raw(sample.tid) == 13);
  REQUIRE(sample.list == 15);
  REQUIRE(sample.comm == "sixteen-bytes-xx");
  REQUIRE(sample.stack.user.size() == 2);
  REQUIRE(sample.stack.user[1] == 0x2222);
  REQUIRE(sample.stack.kernel.size() == 1);
  REQUIRE(sample.stack.end == LS_STACK_CHAIN_ENDED);
  std::vector<std::byte> key;
  append_label_bytes(sample.labels, key);
  REQUIRE(decode_label_bytes(key).labels == LabelSet{{"id", "abc", 0}});
}

TEST_CASE("records: a label set has its number and its labels, and no number of an outcome") {
  const auto answer = answer_words();
  std::vector<std::uint64_t> words(sizeof(ls_label_set_head) / 8);
  words.insert(words.end(), answer.begin() + sizeof(ls_labels_head) / 8, answer.end());
  auto& head = at<ls_label_set_head>(words, 0);
  head.record = {static_cast<std::uint32_t>(words.size() * 8), LS_RECORD_LABEL_SET};
  head.number = 1000;
  head.pid = 12;
  head.life = 14;
  auto record = decode(words);
  REQUIRE(record);
  const auto& set = std::get<LabelSetRecord>(*record);
  CHECK(set.number == 1000);
  CHECK(set.process == ProcessKey{Pid{12}, 14});
  std::vector<std::byte> bytes;
  append_label_bytes(set.labels, bytes);
  CHECK(decode_label_bytes(bytes).labels == LabelSet{{"id", "abc", 0}});
  at<ls_label_set_head>(words, 0).number = LS_UNLABELLED;
  CHECK_FALSE(decode(words));
  at<ls_label_set_head>(words, 0).number = 1000;
  words.pop_back();
  at<ls_record_head>(words, 0).size -= 8;
  CHECK_FALSE(decode(words));
}

TEST_CASE("records: the end of a thread, and nothing that is longer or shorter") {
  ls_thread_end end{{sizeof(ls_thread_end), LS_RECORD_THREAD_END}, 123, 12, 13, 14, 15, 16};
  std::vector<std::uint64_t> words(sizeof(end) / 8);
  std::memcpy(words.data(), &end, sizeof(end));
  auto record = decode(words);
  REQUIRE(record);
  const auto& decoded = std::get<ThreadEndRecord>(*record);
  REQUIRE(decoded.thread_ns == 123);
  REQUIRE(decoded.process == (ProcessKey{Pid{12}, 16}));
  REQUIRE(raw(decoded.tid) == 13);
  REQUIRE(decoded.time_ns == 14);
  REQUIRE(decoded.identity == 15);
  words.push_back(0);
  at<ls_record_head>(words, 0).size += 8;
  REQUIRE_FALSE(decode(words));
  words.resize(words.size() - 2);
  at<ls_record_head>(words, 0).size -= 16;
  REQUIRE_FALSE(decode(words));
}

TEST_CASE("records: the waits of a thread that has ended, and nothing that is longer") {
  ls_thread_waits waits{};
  waits.record = {sizeof(waits), LS_RECORD_THREAD_WAITS};
  waits.account = {1, 2, {{{3, 4, 5}, 6}, {}}};
  waits.divided.cut_ns = 20;
  waits.late.ns[LS_PART_RUNNABLE] = 21;
  waits.ended_ns = 7;
  waits.thread_ns = 8;
  waits.pid = 12;
  waits.tid = 13;
  waits.life = 14;
  std::vector<std::uint64_t> words(sizeof(waits) / 8);
  std::memcpy(words.data(), &waits, sizeof(waits));
  auto record = decode(words);
  REQUIRE(record);
  const auto& decoded = std::get<ThreadWaitsRecord>(*record);
  CHECK(decoded.process == ProcessKey{Pid{12}, 14});
  CHECK(decoded.tid == Tid{13});
  CHECK(decoded.account.begun_ran_ns == 2);
  CHECK(decoded.account.in[0].ns[LS_PART_RUNNABLE] == 5);
  CHECK(decoded.account.in[0].waits == 6);
  CHECK(decoded.divided.cut_ns == 20);
  CHECK(decoded.late.ns[LS_PART_RUNNABLE] == 21);
  CHECK(decoded.ended_ns == 7);
  CHECK(decoded.thread_ns == 8);
  words.push_back(0);
  at<ls_record_head>(words, 0).size += 8;
  CHECK_FALSE(decode(words));
}

TEST_CASE("records: a record cut anywhere is refused") {
  auto words = sample_words();
  for (std::size_t size = 0; size < words.size() * 8; ++size) {
    REQUIRE_FALSE(decode_record(std::as_bytes(std::span(words)).first(size)));
    // This holds also when the head gives the true size.
    auto cut = words;
    cut.resize((size + 7) / 8);
    if (size >= 8) at<ls_record_head>(cut, 0).size = static_cast<std::uint32_t>(size);
    REQUIRE_FALSE(decode_record(std::as_bytes(std::span(cut)).first(size)));
  }
}

TEST_CASE("records: numbers that contradict the rest are refused") {
  auto words = sample_words();
  SECTION("type") { at<ls_record_head>(words, 0).type = 99; }
  SECTION("frames") { at<ls_sample_head>(words, 0).stack.user_frames = 3; }
  SECTION("end of the stack") { at<ls_sample_head>(words, 0).stack.end = LS_STACK_END_COUNT; }
  SECTION("kind of sample") { at<ls_sample_head>(words, 0).kind = LS_SAMPLE_KIND_COUNT; }
  SECTION("outcome") { at<ls_label_head>(words, kHead).outcome = LS_OUTCOME_COUNT; }
  SECTION("labels of an unlabelled sample") {
    at<ls_label_head>(words, kHead).outcome = LS_UNLABELLED;
  }
  SECTION("labels' size") { at<ls_label_head>(words, kHead).size = 32; }
  SECTION("labels' size, huge") { at<ls_label_head>(words, kHead).size = 0xfffffff8; }
  SECTION("blocks") { at<ls_label_head>(words, kHead).block_count = 2; }
  SECTION("publisher") { at<ls_label_block>(words, kBlock).publisher = LS_MAX_PUBLISHERS; }
  SECTION("label count") { at<ls_label_block>(words, kBlock).label_count = 2; }
  SECTION("byte count") { at<ls_label_block>(words, kBlock).byte_count = 0xfffffff9; }
  SECTION("reference") { at<ls_label_ref>(words, kRef).value_length = 4; }
  SECTION("reference that wraps") {
    at<ls_label_ref>(words, kRef).key_offset = 0xffff;
    at<ls_label_ref>(words, kRef).key_length = 2;
  }
  REQUIRE_FALSE(decode(words));
}

TEST_CASE("records: a stack of the most frames is taken, and no deeper one") {
  REQUIRE(decode(sample_of_frames(LS_MAX_USER_FRAMES, LS_MAX_FRAMES)));
  CHECK_FALSE(decode(sample_of_frames(LS_MAX_USER_FRAMES + 1, 1)));
  CHECK_FALSE(decode(sample_of_frames(1, LS_MAX_FRAMES + 1)));
}

TEST_CASE("records: an answer has its number and its labels, and nothing behind them") {
  auto words = answer_words();
  auto record = decode(words);
  REQUIRE(record);
  const auto& answer = std::get<AnswerRecord>(*record);
  CHECK(answer.retry_id == 7);
  CHECK(observation_of(answer.labels).labels == LabelSet{{"id", "abc", 0}});
  words.push_back(0);
  at<ls_record_head>(words, 0).size += 8;
  CHECK_FALSE(decode(words));
}

TEST_CASE("records: an event of a process has nothing behind it") {
  std::vector<std::uint64_t> words(sizeof(ls_process_event) / 8);
  at<ls_process_event>(words, 0).record = {sizeof(ls_process_event), LS_RECORD_EXIT};
  REQUIRE(decode(words));
  words.push_back(0);
  at<ls_record_head>(words, 0).size += 8;
  CHECK_FALSE(decode(words));
}

TEST_CASE("records: a label block has room for the most bytes, and nothing is behind it") {
  const auto sample_with = [](std::uint32_t byte_count, std::size_t words_behind) {
    auto words = sample_words();
    const std::size_t strings = (byte_count + 7) / 8;
    words.resize(kRef / 8 + 1 + strings + words_behind);
    at<ls_label_block>(words, kBlock).byte_count = byte_count;
    at<ls_label_head>(words, kHead).size =
        static_cast<std::uint32_t>(words.size() * 8 - kHead - sizeof(ls_label_head));
    at<ls_sample_head>(words, 0).stack.user_frames = 0;
    at<ls_sample_head>(words, 0).stack.kernel_frames = 0;
    at<ls_record_head>(words, 0).size = static_cast<std::uint32_t>(words.size() * 8);
    return words;
  };
  REQUIRE(decode(sample_with(LS_MAX_LABEL_BYTES, 0)));
  CHECK_FALSE(decode(sample_with(LS_MAX_LABEL_BYTES + 1, 0)));
  CHECK_FALSE(decode(sample_with(LS_MAX_LABEL_BYTES, 1)));
}

TEST_CASE("records: an unaligned record is refused instead of read") {
  auto words = sample_words();
  words.push_back(0);
  auto bytes = std::as_writable_bytes(std::span(words));
  std::memmove(&bytes[4], &bytes[0], bytes.size() - 8);
  REQUIRE_FALSE(decode_record(std::span<const std::byte>(bytes).subspan(4, bytes.size() - 8)));
}

TEST_CASE("records: whatever bytes come, decoding stays within them") {
  // The sanitizers' builds find wrong reads. A record that is accepted must be usable.
  std::mt19937 random(4711);
  unsigned accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    auto words = sample_words();
    auto bytes = std::as_writable_bytes(std::span(words));
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      // The head stays, or nothing behind it would ever be reached.
      bytes[8 + random() % (bytes.size() - 8)] = std::byte(random() % 2 ? random() : random() % 8);
    }
    auto record = decode(words);
    if (!record) continue;
    ++accepted;
    std::vector<std::byte> key;
    if (auto* sample = std::get_if<SampleRecord>(&*record)) append_label_bytes(sample->labels, key);
    decode_label_bytes(key);
  }
  REQUIRE(accepted > 100);
}

TEST_CASE("records: label bytes cut anywhere are decoded up to there") {
  LabelMemory made;
  made.add("a", "1").add("bb", "22").publish();
  NativeReader reader(made.memory);
  reader.observe_variable(kVariable);
  std::span<const std::byte> key = reader.label_bytes();
  REQUIRE(decode_label_bytes(key).labels.size() == 2);
  for (std::size_t size = 0; size < key.size(); ++size) {
    REQUIRE(decode_label_bytes(key.first(size)).labels.size() < 2);
  }
}
