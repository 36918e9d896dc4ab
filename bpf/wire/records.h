// These are the records of the ring buffer as values. All bounds are checked here, and nowhere
// else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "bpf/wire/wire.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"
#include "sampling/process_key.h"
#include "sampling/sampler.h"
#include "sources/label_codec.h"

namespace labelscope {

// A sample whose labels are still as they came. wire.h defines its thread_ns.
struct SampleRecord : Sample {
  std::uint64_t retry_id = 0;  // if not 0, an AnswerRecord with the real outcome follows
  std::uint32_t list = 0;      // of mappings, by which its stack was taken; 0: by none
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
  Pid parent{};            // for a fork
  std::uint32_t life = 0;  // wire.h has this and all that follows
  Tid former{};  // for an exec: its thread's number before, or 0 if that is not known
  std::uint64_t thread_ns = 0;  // for an exec: the CPU time of that thread
  std::uint32_t identity = 0;   // for an exec: of that thread; 0 if that is not known
  std::uint32_t from_life = 0;  // for a fork: the parent's; 0 if that is not known
  // For an exec, the name from now on, for an exit the last one; empty if that is not known.
  std::string_view comm{};
};

struct ThreadEndRecord {
  ProcessKey process;
  Tid tid{};
  std::uint64_t thread_ns = 0;
  std::uint64_t time_ns = 0;  // when it ended
  std::uint32_t identity = 0;
};

// A thread has left its last processor.
struct ThreadWaitsRecord {
  ProcessKey process;
  Tid tid{};
  ls_wait_account account{};
  ls_divided_wait divided{};
  ls_late_waits late{};  // of the window before
  std::uint64_t ended_ns = 0;
  std::uint64_t thread_ns = 0;
};

struct LabelSetRecord {
  ProcessKey process;
  std::uint64_t number = 0;
  WireLabels labels;
  ls_choice choice = LS_CHOICE_OF_WAITS;
};

using Record = std::variant<SampleRecord, AnswerRecord, ProcessRecord, ThreadEndRecord,
                            ThreadWaitsRecord, LabelSetRecord>;

// Returns views into `bytes`, which must be 8-aligned as the ring buffer's records are. Fails with
// kMalformed for anything that wire.h does not describe.
Result<Record> decode_record(std::span<const std::byte> bytes);

}  // namespace labelscope
