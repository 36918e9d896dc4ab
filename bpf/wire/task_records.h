// The records of the iterators (snapshot_wire.h) as values. All bounds are checked here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "labelscope/ids.h"
#include "labelscope/mapping.h"
#include "labelscope/result.h"
#include "sampling/snapshot.h"

namespace labelscope {

// kMalformed for anything that snapshot_wire.h does not describe.
struct ThreadRecord {
  ThreadSnapshot thread;
  bool pointer_lags = false;  // the labels may have been read through an old thread pointer
  bool ended = false;         // it has given up its memory: its outcome and labels mean nothing
};
// `facts`: of the process, which names keys; may be null.
Result<ThreadRecord> decode_thread(std::span<const std::byte> record,
                                   const ProcessFacts* facts = nullptr);

// The bytes that were asked for; kUnreadable if one of them is not there.
Result<std::span<const std::byte>> decode_bytes(std::span<const std::byte> record,
                                                std::size_t size);

// With the path as /proc/PID/maps prints it.
Result<Mapping> decode_mapping(std::span<const std::byte> record);

// The letter that /proc/PID/stat shows for the kernel's state of a task.
char state_letter(std::uint32_t state, std::uint32_t exit_state);

}  // namespace labelscope
