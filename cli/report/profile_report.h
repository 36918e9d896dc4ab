// What people are told of a profile: files, tables, the numbers that add up. Of record and report.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/answer/summary.h"
#include "cli/options/output_options.h"
#include "cli/report/outputs.h"

namespace labelscope::cli {

// For what `fd` is.
SummaryStyle style_for(ColorMode mode, int fd);

class ProfileReport {
 public:
  ProfileReport(const OutputOptions& options, const Profile& profile)
      : options_(options), profile_(profile) {}

  // Files first: whatever happens to stdout, they are there. False if one could not be written.
  // `source`: as RenderOptions.
  bool write_files(Outputs& outputs, std::string source = {});
  // The tables of --summary, on stdout, or on stderr where a file takes that. False if it failed,
  // which was said.
  bool show_summary(bool stdout_is_taken);
  // The label keys seen, and the functions, if no summary has told them. False if it failed.
  bool show_keys(std::ostream& out, int fd) const;
  void say_missing_keys() const;
  // What was left out of the labels, and what should be if there are too many sets of them.
  void say_label_sets() const;
  void say_files() const;  // those that were written, and those that could not be
  // The end: the numbers that add up, and on the last line what to type next.
  void say_ledger() const;

 protected:
  const Profile& profile() const { return profile_; }

 private:
  std::string next_step() const;

  const OutputOptions& options_;
  const Profile& profile_;
  std::vector<WrittenFile> written_;
  std::vector<Error> write_errors_;
};

}  // namespace labelscope::cli
