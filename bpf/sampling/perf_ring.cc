// The format is that of perf_event_open(2), "MMAP layout". The kernel's data_head and the reader's
// data_tail only grow; an offset in the buffer is the remainder by its size.
#include "bpf/sampling/perf_ring.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

namespace labelscope {
namespace {

// PERF_RECORD_MMAP2 before the file name.
struct MappingRecord {
  perf_event_header head;
  std::uint32_t pid;
  std::uint32_t tid;
  std::uint64_t start;
  std::uint64_t length;
  std::uint64_t file_offset;
  std::uint32_t device_major;
  std::uint32_t device_minor;
  std::uint64_t inode;
  std::uint64_t inode_generation;
  std::uint32_t protection;
  std::uint32_t flags;
};
static_assert(sizeof(MappingRecord) == 72);

// The time is behind the file name, and behind all other records (sample_id_all).
constexpr std::size_t kTimeSize = sizeof(std::uint64_t);

// The path of a file has at most 4,096 bytes, and a few fields come behind it.
constexpr std::uint64_t kLargestRecord = sizeof(MappingRecord) + 4096 + 64;
// From here on large records may be lost, while small ones are still written.
constexpr std::uint64_t kAlmostFull = PerfRing::kBytes - kLargestRecord;

struct LostRecord {
  perf_event_header head;
  std::uint64_t id;
  std::uint64_t lost;
};

template <class T>
bool take(std::span<const std::byte> record, T& out) {
  if (record.size() < sizeof(T)) return false;
  std::memcpy(&out, record.data(), sizeof(T));
  return true;
}

void decode_mapping(std::span<const std::byte> record, PerfRing::Handler& handler) {
  MappingRecord fixed{};
  MappingEvent event;
  if (record.size() < sizeof(fixed) + kTimeSize || !take(record, fixed) ||
      !take(record.last(kTimeSize), event.time_ns)) {
    ++handler.malformed;
    return;
  }
  handler.last_ns = event.time_ns;
  if ((fixed.protection & PROT_EXEC) == 0) return;
  const auto name = record.first(record.size() - kTimeSize).subspan(sizeof(fixed));
  const char* text = reinterpret_cast<const char*>(name.data());
  event.pid = static_cast<Pid>(fixed.pid);
  event.start = fixed.start;
  event.length = fixed.length;
  event.file_offset = fixed.file_offset;
  event.device_major = fixed.device_major;
  event.device_minor = fixed.device_minor;
  event.inode = fixed.inode;
  event.generation = fixed.inode_generation;
  event.path = {text, name.empty() ? 0 : strnlen(text, name.size())};
  handler.on_mapping(event);
}

}  // namespace

void decode_perf_record(std::span<const std::byte> record, PerfRing::Handler& handler) {
  perf_event_header head{};
  if (!take(record, head)) {
    ++handler.malformed;
    return;
  }
  LostRecord lost{};
  switch (head.type) {
    case PERF_RECORD_MMAP2:
      decode_mapping(record, handler);
      break;
    case PERF_RECORD_THROTTLE:
      ++handler.throttled;
      break;
    case PERF_RECORD_LOST:
      if (take(record, lost)) {
        handler.lost += lost.lost;
      } else {
        ++handler.malformed;
      }
      break;
    default:
      break;  // UNTHROTTLE, and types that later kernels add
  }
}

Result<PerfRing> PerfRing::map(int event_fd) {
  auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* base = mmap(nullptr, page + kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, event_fd, 0);
  if (base == MAP_FAILED) {
    if (errno != EPERM) return system_error(errno, "cannot map the ring of a perf event");
    return Error{ErrorCode::kPermission,
                 "cannot map the ring of a perf event: kernel.perf_event_mlock_kb and "
                 "RLIMIT_MEMLOCK leave too little memory (CAP_IPC_LOCK lifts the limit)"};
  }
  return PerfRing(static_cast<std::byte*>(base), page);
}

void PerfRing::Unmap::operator()(std::byte* base) const { munmap(base, page + kBytes); }

bool PerfRing::has_records() const {
  auto* control = reinterpret_cast<perf_event_mmap_page*>(base_.get());
  const std::uint64_t head = std::atomic_ref(control->data_head).load(std::memory_order_acquire);
  return head != control->data_tail;
}

void PerfRing::drain(Handler& handler) {
  auto* control = reinterpret_cast<perf_event_mmap_page*>(base_.get());
  const std::byte* data = base_.get() + base_.get_deleter().page;
  std::uint64_t head = std::atomic_ref(control->data_head).load(std::memory_order_acquire);
  std::uint64_t tail = control->data_tail;
  const std::uint64_t begin = tail;
  std::uint64_t full_since_ns = 0;
  handler.last_ns = last_ns_;
  while (head - tail >= sizeof(perf_event_header)) {
    // Records are 8-aligned and a header is 8 bytes, so it never wraps.
    perf_event_header header{};
    std::memcpy(&header, data + tail % kBytes, sizeof(header));
    if (header.size < sizeof(header) || header.size > head - tail) {
      ++handler.malformed;
      tail = head;  // without a valid size the start of the next record is unknown
      break;
    }
    std::size_t before_end = std::min<std::size_t>(header.size, kBytes - tail % kBytes);
    record_.resize(header.size);
    std::memcpy(record_.data(), data + tail % kBytes, before_end);
    std::memcpy(record_.data() + before_end, data, header.size - before_end);
    tail += header.size;
    const bool is_first = std::exchange(leaves_out_losses_, false);
    if (is_first && header.type == PERF_RECORD_LOST) continue;
    decode_perf_record(record_, handler);
    if (full_since_ns == 0 && tail - begin > kAlmostFull) full_since_ns = handler.last_ns;
  }
  std::atomic_ref(control->data_tail).store(tail, std::memory_order_release);
  last_ns_ = handler.last_ns;
  // What came until the kernel has learned of this room may have been lost.
  head = std::atomic_ref(control->data_head).load(std::memory_order_acquire);
  if (head - begin <= kAlmostFull) return;
  if (full_since_ns == 0) full_since_ns = last_ns_;
  handler.full_since_ns = std::min(handler.full_since_ns.value_or(UINT64_MAX), full_since_ns);
}

}  // namespace labelscope
