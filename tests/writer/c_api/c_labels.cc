#include "writer/c_api/c_labels.h"

#include <algorithm>

Labels labels_of(const custom_labels_labelset_t* set) {
  Labels labels;
  for (std::size_t i = 0; custom_labels_at(set, i) != nullptr; ++i) {
    const custom_labels_label_t* label = custom_labels_at(set, i);
    labels.emplace_back(view(label->key), view(label->value));
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}
