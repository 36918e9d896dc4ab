#include "process/copied_text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "base/pages.h"
#include "elf/elf_image.h"

namespace labelscope {
namespace {

// So many pages of a mapping are compared, the first and the last among them.
constexpr std::uint64_t kMostCompared = 32;
// A process chooses its mappings, and what its files say of their segments: of which one a mapping
// may be, at which addresses that puts the others. So all that is tried for one process has a
// bound, in which a page that is compared and a file that is opened count as much as so many looks
// at a segment. Beyond it, code stays without a file. That is 4,096 pages; code of hundreds of
// megabytes in large pages needs 32 of each mapping.
constexpr std::size_t kMostTried = std::size_t{1} << 20;
constexpr std::size_t kCostOfPage = 256;

// Code that may be a copy: it has no file, or one of those that stand for large pages.
bool is_candidate(const Mapping& mapping) {
  if (!mapping.executable) return false;
  const std::string_view path = mapping.path;
  if (path.starts_with("/anon_hugepage")) return true;
  return !mapping.file && (path.empty() || path.starts_with("[anon:"));
}

class CopiedText {
 public:
  CopiedText(const Target& target, std::vector<Mapping>& mappings)
      : target_(target), mappings_(mappings) {}

  void name_all() {
    // A copy may be in several mappings, of which only the outer ones touch the file.
    for (std::size_t i = 1; i < mappings_.size(); ++i) name_beside(i, i - 1);
    for (std::size_t i = mappings_.size(); i-- > 1;) name_beside(i - 1, i);
  }

 private:
  void name_beside(std::size_t index, std::size_t neighbour) {
    Mapping& mapping = mappings_[index];
    const Mapping& other = mappings_[neighbour];
    const bool touches = mapping.start == other.end || mapping.end == other.start;
    if (!touches || !is_candidate(mapping) || !other.file || is_candidate(other)) return;
    const ElfImage* image = image_of(other);
    if (image == nullptr) return;
    for (const LoadSegment& of_other : image->load_segments()) {
      const std::uint64_t begin = page_down(of_other.file_offset);
      const std::uint64_t end = page_up(of_other.file_offset + of_other.file_size);
      if (other.file_offset < begin || other.file_offset >= end) continue;
      const Address bias = other.start - other.file_offset + of_other.file_offset - of_other.vaddr;
      for (const LoadSegment& segment : image->load_segments()) {
        if (!may_try(1)) return;
        if (!lies_in(mapping, segment, bias) || !is_same(mapping, segment, *image, bias)) continue;
        mapping.file = other.file;
        mapping.path = other.path;
        mapping.file_offset = mapping.start - bias - segment.vaddr + segment.file_offset;
        return;
      }
    }
  }

  static bool lies_in(const Mapping& mapping, const LoadSegment& segment, Address bias) {
    return segment.executable && mapping.start - bias >= page_down(segment.vaddr) &&
           mapping.end - bias <= page_up(segment.vaddr + segment.file_size);
  }

  bool is_same(const Mapping& mapping, const LoadSegment& segment, const ElfImage& image,
               Address bias) {
    const std::uint64_t pages = (mapping.end - mapping.start) / kPage;
    const std::uint64_t compared = std::min(pages, kMostCompared);
    const Address segment_end = bias + segment.vaddr + segment.file_size;
    for (std::uint64_t i = 0; i < compared; ++i) {
      const std::uint64_t page = compared == 1 ? 0 : i * (pages - 1) / (compared - 1);
      const Address at = std::max(mapping.start + page * kPage, bias + segment.vaddr);
      const Address end = std::min(mapping.start + (page + 1) * kPage, segment_end);
      if (at >= end) continue;
      if (!may_try(kCostOfPage)) return false;
      std::array<std::byte, kPage> in_file{};
      std::array<std::byte, kPage> in_memory{};
      const auto size = static_cast<std::size_t>(end - at);
      if (!image.read(at - bias, std::span(in_file).first(size)) ||
          !target_.memory().read(at, std::span(in_memory).first(size)) ||
          !std::equal(in_file.begin(), in_file.begin() + static_cast<std::ptrdiff_t>(size),
                      in_memory.begin())) {
        return false;
      }
    }
    return compared != 0;
  }

  // Returns null if it cannot be used. Neighbours of one file follow each other, and so one file is
  // open at a time.
  const ElfImage* image_of(const Mapping& mapping) {
    if (opened_ != mapping.file) {
      opened_ = mapping.file;
      image_.reset();
      if (!may_try(kCostOfPage)) return nullptr;
      auto file = target_.open_file(mapping);
      auto image = file ? ElfImage::open(*std::move(file)) : Result<ElfImage>(file.error());
      if (image) image_ = *std::move(image);
    }
    return image_ ? &*image_ : nullptr;
  }

  // Returns false if all that may be tried was.
  bool may_try(std::size_t cost) {
    tried_ += cost;
    return tried_ <= kMostTried;
  }

  const Target& target_;
  std::vector<Mapping>& mappings_;
  FileId opened_{};
  std::optional<ElfImage> image_;  // of this file
  std::size_t tried_ = 0;
};

}  // namespace

void name_copied_text(const Target& target, std::vector<Mapping>& mappings) {
  CopiedText(target, mappings).name_all();
}

}  // namespace labelscope
