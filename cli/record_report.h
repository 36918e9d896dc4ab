// What becomes of a recording when it is over: files, tables, and the sentences that go with them.
#pragma once

#include "cli/options.h"
#include "cli/record/outputs.h"
#include "cli/record/recorder.h"

namespace labelscope::cli {

class RecordReport {
 public:
  RecordReport(const RecordOptions& options, const Profile& profile, const Recorder& recorder)
      : options_(options), profile_(profile), recorder_(recorder) {}

  // What went wrong while sampling, as far as it did.
  void say_problems() const;
  // Files first: whatever happens to stdout, they are there. False if one could not be written.
  bool write_files(Outputs& outputs) const;
  // The tables of --summary, the label keys seen, and why there are none. False if stdout failed.
  bool show_labels(const Outputs& outputs) const;
  // The last line: the numbers that add up, and what to type next.
  void say_ledger(const Outputs& outputs) const;

 private:
  void explain_missing_labels() const;
  void say_missing_keys() const;
  std::string next_step(const Outputs& outputs) const;

  const RecordOptions& options_;
  const Profile& profile_;
  const Recorder& recorder_;
};

}  // namespace labelscope::cli
