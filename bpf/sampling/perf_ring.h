// Each CPU has a ring for its perf events, in which the kernel reports what is no sample: new
// mappings, throttling, losses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bpf/wire/records.h"
#include "labelscope/result.h"
#include "sampling/sampler.h"

namespace labelscope {

class PerfRing {
 public:
  // Bytes for data. They hold about 600 mappings between two reads, on each CPU: so many are made
  // in two seconds by a program that loads and unloads libraries all the time.
  static constexpr std::size_t kBytes = 128 << 10;

  struct Handler {
    std::function<void(const MappingEvent&)> on_mapping;
    std::uint64_t lost = 0;       // records that the kernel had no room for
    std::uint64_t throttled = 0;  // times that the kernel paused the event
    std::uint64_t malformed = 0;  // records that contradict themselves
    // Set if there was hardly room for another record: what was mapped since then may be missing.
    // The kernel reports what it has lost only beside the next record.
    std::optional<std::uint64_t> full_since_ns;
    std::uint64_t last_ns = 0;  // when the last mapping was made that was handed out
  };

  static Result<PerfRing> map(int event_fd);

  // Whether there are records.
  bool has_records() const;
  // Hands out the records that are there.
  void drain(Handler& handler);
  // The kernel reports what it has lost beside the next record. What it has lost until now, when
  // all records were drained, is not to be reported any more.
  void leave_out_losses() { leaves_out_losses_ = true; }

 private:
  struct Unmap {
    std::size_t page;
    void operator()(std::byte* base) const;
  };
  PerfRing(std::byte* base, std::size_t page) : base_(base, Unmap{page}) {}

  std::unique_ptr<std::byte, Unmap> base_;  // a control page, then kBytes of data
  std::uint64_t last_ns_ = 0;       // when the last mapping in it was made
  std::vector<std::byte> record_;           // one record, put together if the ring wraps within it
  bool leaves_out_losses_ = false;
};

// Decodes one whole record of the ring, whose bytes linux/perf_event.h describes.
void decode_perf_record(std::span<const std::byte> record, PerfRing::Handler& handler);

}  // namespace labelscope
