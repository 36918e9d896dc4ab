#include "process/copied_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "elf/elf_image.h"

namespace labelscope {
namespace {

constexpr std::uint64_t kPage = 4096;
// So many pages of a mapping are compared, the first and the last among them.
constexpr std::uint64_t kMostCompared = 32;

std::uint64_t page_down(std::uint64_t value) { return value & ~(kPage - 1); }
std::uint64_t page_up(std::uint64_t value) { return page_down(value + kPage - 1); }

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
    const std::optional<ElfImage>& image = image_of(other);
    if (!image) return;
    for (const LoadSegment& of_other : image->load_segments()) {
      const std::uint64_t begin = page_down(of_other.file_offset);
      const std::uint64_t end = page_up(of_other.file_offset + of_other.file_size);
      if (other.file_offset < begin || other.file_offset >= end) continue;
      const Address bias = other.start - other.file_offset + of_other.file_offset - of_other.vaddr;
      for (const LoadSegment& segment : image->load_segments()) {
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
               Address bias) const {
    const std::uint64_t pages = (mapping.end - mapping.start) / kPage;
    const std::uint64_t compared = std::min(pages, kMostCompared);
    const Address segment_end = bias + segment.vaddr + segment.file_size;
    for (std::uint64_t i = 0; i < compared; ++i) {
      const std::uint64_t page = compared == 1 ? 0 : i * (pages - 1) / (compared - 1);
      const Address at = std::max(mapping.start + page * kPage, bias + segment.vaddr);
      const Address end = std::min(mapping.start + (page + 1) * kPage, segment_end);
      if (at >= end) continue;
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

  const std::optional<ElfImage>& image_of(const Mapping& mapping) {
    auto [entry, fresh] = images_.try_emplace(mapping.file);
    if (!fresh) return entry->second;
    auto opened = target_.open_file(mapping);
    if (!opened) return entry->second;
    if (auto image = ElfImage::open(*std::move(opened))) entry->second = *std::move(image);
    return entry->second;
  }

  const Target& target_;
  std::vector<Mapping>& mappings_;
  std::map<FileId, std::optional<ElfImage>> images_;
};

}  // namespace

void name_copied_text(const Target& target, std::vector<Mapping>& mappings) {
  CopiedText(target, mappings).name_all();
}

}  // namespace labelscope
