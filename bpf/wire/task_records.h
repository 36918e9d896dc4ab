// These are the records of the iterators (snapshot_wire.h) as values. All bounds are checked here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "labelscope/ids.h"
#include "labelscope/mapping.h"
#include "labelscope/result.h"
#include "sampling/snapshot.h"
#include "sources/label_codec.h"

namespace labelscope {

// The functions below fail with kMalformed for anything that snapshot_wire.h does not describe.
struct ThreadRecord {
  ThreadSnapshot thread;
  bool pointer_lags = false;  // set if the labels may have been read through an old thread pointer
  // set if it has given up its memory: its outcome and labels then mean nothing
  bool ended = false;
  WireLabels labels;  // those of `thread.seen`, before any meaning; a view of the record
};
Result<ThreadRecord> decode_thread(std::span<const std::byte> record, const Meanings& by = {});

// Returns the requested bytes, or kUnreadable if one of them cannot be read.
Result<std::span<const std::byte>> decode_bytes(std::span<const std::byte> record,
                                                std::size_t size);

// Returns a mapping with the path as /proc/PID/maps prints it.
Result<Mapping> decode_mapping(std::span<const std::byte> record);

// Returns the letter that /proc/PID/stat shows for the kernel's state of a task.
char state_letter(std::uint32_t state, std::uint32_t exit_state);

}  // namespace labelscope
