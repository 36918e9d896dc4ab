// CustomLabels: publication.h judges files, label_walk.h reads threads, explain_walk.cc tells it.
#include "sources/custom_labels/custom_labels.h"

#include "customlabels/label_abi.h"
#include "recipe/access.h"
#include "sources/custom_labels/label_walk.h"
#include "sources/custom_labels/publication.h"

namespace labelscope {

const char* CustomLabels::version_symbol() const { return CUSTOM_LABELS_VERSION_SYMBOL; }
const char* CustomLabels::variable_symbol() const { return CUSTOM_LABELS_CURRENT_SET_SYMBOL; }

Result<Publication> CustomLabels::find(const ElfImage& image, bool symtab_too) const {
  return find_publication(image, symtab_too);
}

bool CustomLabels::is_publisher_name(std::string_view path) const {
  return is_abi_library_name(path);
}

std::optional<Finding> CustomLabels::disqualify(const Publication& publication) const {
  return labelscope::disqualify(publication);
}

std::optional<Finding> CustomLabels::confirm(const MemorySource& memory, bool alive,
                                             ModuleTrace& seen) const {
  auto version =
      read_value<std::uint32_t>(memory, seen.load_bias + seen.publication.version->value);
  if (!version) {
    return Finding{FindingCode::kVersionUnreadable,
                   "the ABI version cannot be read: " + version.error().context,
                   alive ? "look again when the library is loaded" : kWholeCore};
  }
  seen.version_word = *version;
  return disqualify_version(*version);
}

std::vector<Finding> CustomLabels::deviations(const Candidate& candidate) const {
  std::vector<Finding> found;
  if (candidate.linkage == Linkage::kLibrary) {
    auto missing = find_missing_descriptor(candidate.machine, candidate.relocations);
    if (missing) found.push_back(*std::move(missing));
  }
  auto others = find_deviations(candidate.publication, candidate.path, candidate.linkage);
  found.insert(found.end(), std::make_move_iterator(others.begin()),
               std::make_move_iterator(others.end()));
  return found;
}

std::optional<Finding> CustomLabels::find_hidden(const Publication& publication,
                                                 Linkage linkage) const {
  return labelscope::find_hidden(publication, linkage);
}

Observation CustomLabels::read(const ThreadView& thread) const {
  return walk_label_set(thread.memory, thread.variable, thread.publisher);
}

}  // namespace labelscope
