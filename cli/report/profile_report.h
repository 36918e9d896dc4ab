// This is what record and report print about a profile: files, tables, and the numbers that add up.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cli/answer/summary.h"
#include "cli/options/common_options.h"
#include "cli/report/outputs.h"

namespace labelscope::cli {

// Returns the style that suits `fd`.
SummaryStyle style_for(ColorMode mode, int fd);

class ProfileReport {
 public:
  ProfileReport(const OutputOptions& options, const Profile& profile);

  // Writes the files, before anything is printed: whatever happens to stdout, they are there.
  // Returns false if one could not be written. `source`: see RenderOptions.
  bool write_files(Outputs& outputs, std::string source);
  // The files that say_files() reports, if write_files() has not written them.
  void note_written(const Written& written) { written_ = written; }
  // Prints the tables of --summary on stdout, or on stderr if a file goes to stdout. Returns false
  // if that failed; the error has been reported.
  bool show_summary(bool stdout_is_taken);
  // Prints the matrices of --blame in the same way. Returns false also if the profile does not know
  // who made whom wait.
  bool show_blame(bool stdout_is_taken);
  // Prints the label keys seen, and the functions, unless a summary has shown them. Returns false
  // if that failed.
  bool show_keys(std::ostream& out, int fd) const;
  void say_missing_keys() const;
  // Reports which labels were left out, and which should be if there are too many label sets.
  void say_label_sets() const;
  void say_files() const;  // reports those that were written, and those that could not be
  // Prints the end: the numbers that add up, and on the last line the command to type next.
  void say_ledger() const;
  // What tables and files but recordings show: without what --idle leaves out.
  const Profile& shown() const { return shown_ ? *shown_ : profile_; }

 protected:
  const Profile& profile() const { return profile_; }

 private:
  std::string next_step() const;

  const OutputOptions& options_;
  const Profile& profile_;
  IdleTime idle_;
  std::optional<Profile> shown_;
  Written written_;
};

}  // namespace labelscope::cli
