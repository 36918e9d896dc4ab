// A directory that the user names may be "/": depth and number of files have bounds, and links to
// directories are not followed.
#include "core/file_index.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "elf/elf_image.h"
#include "elf/regular_file.h"

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
  std::ranges::sort(found);
  cut_ = found.size() >= kMaxFiles;
  for (auto& [depth, path] : found) {
    by_name_[std::string(base_name(path))].push_back(path);
    paths_.push_back(std::move(path));
  }
}

std::vector<std::string> FileIndex::named(const std::string& name) {
  list();
  return by_name_[name];
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
    if (std::string id = image->build_id(); !id.empty()) by_build_id_[id].push_back(path);
  }
}

std::vector<std::string> FileIndex::with_build_id(const std::string& build_id) {
  read_build_ids();
  return by_build_id_[build_id];
}

}  // namespace labelscope
