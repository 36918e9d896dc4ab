// CustomLabels: file_judge.cc judges files, label_walk.h reads threads, explain_walk.cc tells it.
#include "sources/custom_labels/custom_labels.h"

#include "base/text.h"
#include "customlabels/label_abi.h"
#include "elf/elf_image.h"
#include "sources/custom_labels/label_walk.h"
#include "sources/custom_labels/rules.h"

namespace labelscope {

// CUSTOM_LABELS_LIBRARY_NAME_REGEX, written out as code: std::regex uses stack for every letter,
// and the target chooses the length of the name.
bool CustomLabels::is_publisher_name(std::string_view path) const {
  constexpr std::string_view kDeleted = " (deleted)";  // how the kernel marks a replaced file
  constexpr std::string_view kLibrary = "libcustomlabels";
  constexpr std::string_view kSuffix = ".so";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  const std::string_view name = base_name(path);
  if (name.ends_with("customlabels.node")) return true;
  const std::size_t at = name.find(kLibrary);
  return at != std::string_view::npos && name.substr(at + kLibrary.size()).ends_with(kSuffix);
}

CustomLabels::CustomLabels()
    : LabelSource({LS_SOURCE_CUSTOM_LABELS, "ABI v1", CUSTOM_LABELS_VERSION_SYMBOL,
                   CUSTOM_LABELS_CURRENT_SET_SYMBOL, abi_v1::rules()}) {}

Status CustomLabels::find_more(const ElfImage& image, FileInspection& file) const {
  auto found = image.find_dynamic_symbol(kNodeLabelsSymbol);
  if (!found) return std::move(found).error();
  file.async_local_storage = *found && (*found)->defined;
  return {};
}

Observation CustomLabels::read(const ThreadView& thread) const {
  return walk_label_set(thread.memory, thread.variable, thread.publisher);
}

}  // namespace labelscope
