// Fuzzes records from the kernel: those of the ring buffer (records.h), of perf events
// (perf_ring.h) and of task iterators (task_records.h). The kernel is trusted, but bytes of targets
// are in them, and another version of the programs may have written them.
//
//   input = kind, bytes
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bpf/sampling/perf_ring.h"
#include "bpf/wire/records.h"
#include "bpf/wire/task_records.h"
#include "bpf/wire/wire.h"
#include "fuzz/fuzzer_check.h"
#include "process/proc_fs.h"
#include "sources/label_codec.h"

namespace {

using namespace labelscope;

enum Kind { kRing, kPerf, kThread, kBytes, kMapping, kAuxiliary, kKinds };

bool lies_in(const void* at, std::size_t size, std::span<const std::byte> bytes) {
  const auto* first = static_cast<const std::byte*>(at);
  return size == 0 || (first >= bytes.data() && first + size <= bytes.data() + bytes.size());
}

void check_labels(const WireLabels& labels) {
  fuzzer_check(labels.outcome < LS_OUTCOME_COUNT, "the outcome is one of ours");
  std::vector<std::byte> bytes;
  append_label_bytes(labels, bytes);
  const Observation seen = decode_label_bytes(bytes);
  fuzzer_check(seen.labels.size() <= LS_MAX_PUBLISHERS * LS_MAX_LABELS, "labels are bounded");
}

void check_ring(std::span<const std::byte> bytes) {
  const auto record = decode_record(bytes);
  if (!record) {
    fuzzer_check(record.error().code == ErrorCode::kMalformed, "it is malformed");
    return;
  }
  if (const auto* sample = std::get_if<SampleRecord>(&*record)) {
    for (const auto part : {sample->stack.kernel, sample->stack.user}) {
      fuzzer_check(lies_in(part.data(), part.size_bytes(), bytes), "a stack lies in its record");
    }
    fuzzer_check(sample->comm.size() <= 16, "a name has 16 bytes");
    check_labels(sample->labels);
  } else if (const auto* answer = std::get_if<AnswerRecord>(&*record)) {
    check_labels(answer->labels);
  }
}

void check_perf(std::span<const std::byte> bytes) {
  PerfRing::Handler handler;
  handler.on_mapping = [&](const MappingEvent& event) {
    fuzzer_check(lies_in(event.path.data(), event.path.size(), bytes), "a path lies in its record");
  };
  decode_perf_record(bytes, handler);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  // The words are aligned as in the rings.
  std::vector<std::uint64_t> words((size + 6) / 8);
  std::copy(data + 1, data + size, reinterpret_cast<std::uint8_t*>(words.data()));
  const auto bytes = std::as_bytes(std::span(words)).first(size - 1);
  switch (data[0] % kKinds) {
    case kRing:
      check_ring(bytes);
      break;
    case kPerf:
      check_perf(bytes);
      break;
    case kThread:
      if (const auto thread = decode_thread(bytes)) {
        fuzzer_check(thread->thread.seen.outcome < LS_OUTCOME_COUNT, "the outcome is one of ours");
      }
      break;
    case kBytes:
      if (const auto found = decode_bytes(bytes, size % 64)) {
        fuzzer_check(found->size() == size % 64, "it is what was asked for");
        fuzzer_check(lies_in(found->data(), found->size(), bytes), "bytes lie in their record");
      }
      break;
    case kMapping:
      if (const auto mapping = decode_mapping(bytes)) {
        fuzzer_check(mapping->path.size() <= size * 4, "a path is escaped at most");
      }
      break;
    default:
      static_cast<void>(find_auxiliary(bytes, 3));
  }
  return 0;
}
