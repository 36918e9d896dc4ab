// The end of a recording: files, tables, and the sentences that go with them.
#pragma once

#include <string>

#include "cli/options/command_line.h"
#include "cli/record/recorder.h"
#include "cli/record/samplers.h"
#include "cli/report/profile_report.h"

namespace labelscope::cli {

class RecordReport : public ProfileReport {
 public:
  RecordReport(const RecordOptions& options, const Profile& profile, const Recorder& recorder,
               const OpenedSampler& opened)
      : ProfileReport(options, profile),
        options_(options),
        quiet_(options.messages.log_level == log::Level::kQuiet),
        recorder_(recorder),
        opened_(opened) {}

  // Prints the answer: the tables of --summary, the label keys seen, or why there are none. Returns
  // false if stdout failed.
  bool show_labels(const Outputs& outputs);
  // Reports the problems of sampling, if there were any.
  void say_problems() const;

 private:
  void say_problems_of_samples() const;
  void say_lost_publishers() const;
  void explain_missing_labels() const;
  std::string why_no_labels() const;
  void say_variables_without_value() const;
  void say_waits_without_thread() const;

  const RecordOptions& options_;
  bool quiet_;
  const Recorder& recorder_;
  const OpenedSampler& opened_;
};

}  // namespace labelscope::cli
