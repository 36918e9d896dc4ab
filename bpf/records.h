// The records of the ring buffer as values. All bounds are checked here, and nowhere else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "bpf/wire.h"
#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/result.h"
#include "labelscope/sampler.h"

namespace labelscope {

// The labels of a record, checked.
struct WireLabels {
  ls_outcome outcome = LS_UNLABELLED;
  std::uint32_t flags = 0;
  ls_label_cursor start{};  // before the first label
};

// `bytes`: exactly a ls_label_head and what follows it.
Result<WireLabels> decode_labels(std::span<const std::byte> bytes);

// A sample whose labels are still as they came. wire.h tells what its thread_ns is.
struct SampleRecord : Sample {
  std::uint64_t retry_id = 0;  // not 0: an AnswerRecord with the real outcome follows
  WireLabels labels;
};

struct AnswerRecord {
  std::uint64_t retry_id = 0;
  WireLabels labels;
};

struct ProcessRecord {
  enum class Kind { kFork, kExec, kExit };
  Kind kind = Kind::kExit;
  std::uint64_t time_ns = 0;
  Pid pid{};
  Pid parent{};  // of a fork
  std::uint32_t image = 0;
  Tid former{};                 // of an exec: its thread's number before; 0: not known
  std::uint64_t thread_ns = 0;  // of an exec: the CPU time of that thread
};

struct ThreadEndRecord {
  Pid pid{};
  Tid tid{};
  std::uint64_t thread_ns = 0;
};

using Record = std::variant<SampleRecord, AnswerRecord, ProcessRecord, ThreadEndRecord>;

// Views into `bytes`, which must be 8-aligned as the ring buffer's records are. kMalformed for
// anything that wire.h does not describe.
Result<Record> decode_record(std::span<const std::byte> bytes);

// Appends the labels in a form in which equal labels are equal bytes. So label sets can be interned
// without decoding them. The gaps in the blocks are left out.
void append_label_key(const WireLabels& labels, std::vector<std::byte>& key);

// Decodes such a key by the rules of the ABI: of equal keys the first counts, and publishers are
// merged. `flags` has what only this finds (LS_DUPLICATE_KEY, LS_KEY_CONFLICT); add the sample's.
Observation decode_label_key(std::span<const std::byte> key);

// Outcome, flags and labels, by the same rules.
Observation observation_of(const WireLabels& labels);

}  // namespace labelscope
