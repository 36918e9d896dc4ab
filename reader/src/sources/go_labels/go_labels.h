// These are the labels of Go's runtime/pprof (pprof.Do, pprof.SetGoroutineLabels). They belong to
// goroutines, which move between threads: a thread has those of the goroutine that it runs now.
#pragma once

#include <string_view>
#include <vector>

#include "sources/label_source.h"

namespace labelscope {

class GoLabels final : public LabelSource {
 public:
  GoLabels();
  bool is_publisher_name(std::string_view) const override { return false; }
  Status find(const ElfImage& image, bool everything, FileInspection& file) const override;
  bool declares(const FileInspection& file) const override;
  Status study(const ElfImage& image, FileInspection& file) const override;
  void judge(std::string_view path, FileInspection& file) const override;
  AccessPlan reach(const Reachable& publisher) const override;
  std::vector<SourceDetail> details(const FileInspection& file) const override;
  Observation read(const ThreadView& thread) const override;
  ReadingStory explain(const ThreadView& thread) const override;
};

}  // namespace labelscope
