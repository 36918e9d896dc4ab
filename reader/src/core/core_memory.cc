// One read may cross segments, and may take parts from the core and parts from files. On aarch64
// every address may have a tag, which the processor ignores, too.
#include "core/core_memory.h"

#include <algorithm>
#include <span>

#include "core/process_files.h"

namespace labelscope {
namespace {

Error not_there(std::string what) { return Error{ErrorCode::kUnreadable, std::move(what)}; }

bool wraps_around(Address address, std::size_t size) {
  return size != 0 && size - 1 > UINT64_MAX - address;
}

}  // namespace

std::uint64_t DumpedMemory::dumped_from(Address address) const {
  const CoreSegment* segment = find_segment(segments_, address);
  if (segment == nullptr || address - segment->start >= segment->file_size) return 0;
  return segment->file_size - (address - segment->start);
}

Address DumpedMemory::next_dumped(Address address) const {
  auto next = std::ranges::upper_bound(segments_, address, {}, &CoreSegment::start);
  while (next != segments_.end() && next->file_size == 0) ++next;
  return next == segments_.end() ? UINT64_MAX : next->start;
}

Status DumpedMemory::read(Address address, std::span<std::byte> out) const {
  address = untagged(address);
  if (wraps_around(address, out.size())) return not_there("memory beyond all addresses");
  while (!out.empty()) {
    const std::size_t count = std::min<std::uint64_t>(dumped_from(address), out.size());
    if (count == 0) return not_there("memory that was not dumped");
    const CoreSegment& segment = *find_segment(segments_, address);
    const std::uint64_t offset = segment.file_offset + (address - segment.start);
    if (!core_.read_offset(offset, out.first(count))) {
      return not_there("memory that is missing because the core file was cut short");
    }
    out = out.subspan(count);
    address += count;
  }
  return {};
}

Status CoreMemory::read(Address address, std::span<std::byte> out) const {
  address = untagged(address);
  if (wraps_around(address, out.size())) return not_there("memory beyond all addresses");
  while (!out.empty()) {
    const std::uint64_t dumped = dumped_.dumped_from(address);
    const std::uint64_t most = dumped != 0 ? dumped : dumped_.next_dumped(address) - address;
    const std::size_t count = std::min<std::uint64_t>(most, out.size());
    // This is the very last address.
    if (count == 0) return not_there("memory that was not dumped");
    Status status = dumped != 0 ? dumped_.read(address, out.first(count))
                                : read_file(address, out.first(count));
    if (!status) return status;
    out = out.subspan(count);
    address += count;
  }
  return {};
}

Status CoreMemory::read_file(Address address, std::span<std::byte> out) const {
  while (!out.empty()) {
    const FileRange* range = files_.range_of(address);
    if (range == nullptr) return not_there("memory that was not dumped");
    const std::size_t count = std::min<std::uint64_t>(range->end - address, out.size());
    Status status = files_.read(*range, address, out.first(count));
    if (!status) return status;
    out = out.subspan(count);
    address += count;
  }
  return {};
}

}  // namespace labelscope
