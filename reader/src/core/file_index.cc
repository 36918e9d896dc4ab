// A directory that somebody names may be "/": depth and number of files have bounds, and links to
// directories are not followed.
#include "core/file_index.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "labelscope/elf_image.h"
#include "labelscope/regular_file.h"
#include "labelscope/text.h"

namespace labelscope {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 12;

}  // namespace

void FileIndex::list() {
  if (listed_) return;
  listed_ = true;
  std::error_code error;
  fs::recursive_directory_iterator at(directory_, fs::directory_options::skip_permission_denied,
                                      error);
  std::vector<std::pair<int, std::string>> found;
  for (; !error && at != fs::recursive_directory_iterator() && found.size() < kMaxFiles;
       at.increment(error)) {
    std::error_code ignored;
    if (at.depth() >= kMaxDepth ||
        (at->is_directory(ignored) && in_kernel_file_system(at->path().string()))) {
      at.disable_recursion_pending();
    }
    if (at->is_regular_file(ignored)) found.emplace_back(at.depth(), at->path().string());
  }
  std::sort(found.begin(), found.end());
  cut_ = found.size() >= kMaxFiles;
  for (auto& [depth, path] : found) {
    by_name_.emplace(base_name(path), paths_.size());
    paths_.push_back(std::move(path));
  }
}

std::vector<std::string> FileIndex::named(const std::string& name) {
  list();
  std::vector<std::size_t> places;
  const auto [first, last] = by_name_.equal_range(name);
  std::transform(first, last, std::back_inserter(places),
                 [](const auto& entry) { return entry.second; });
  std::sort(places.begin(), places.end());
  std::vector<std::string> found;
  std::transform(places.begin(), places.end(), std::back_inserter(found),
                 [&](std::size_t place) { return paths_[place]; });
  return found;
}

void FileIndex::read_build_ids() {
  if (build_ids_read_) return;
  build_ids_read_ = true;
  list();
  for (const std::string& path : paths_) {
    auto fd = open_regular_file(path);
    if (!fd) continue;
    auto image = ElfImage::open(*std::move(fd));
    if (!image) continue;
    if (std::string id = image->build_id(); !id.empty()) by_build_id_.emplace(std::move(id), path);
  }
}

std::vector<std::string> FileIndex::with_build_id(const std::string& build_id) {
  read_build_ids();
  std::vector<std::string> found;
  const auto [first, last] = by_build_id_.equal_range(build_id);
  std::transform(first, last, std::back_inserter(found),
                 [](const auto& entry) { return entry.second; });
  return found;
}

}  // namespace labelscope
