// What becomes of a recording when it is over: files, tables, and the sentences that go with them.
#pragma once

#include <string>
#include <vector>

#include "cli/options/command_line.h"
#include "cli/record/outputs.h"
#include "cli/record/recorder.h"
#include "cli/unwind/table_worker.h"

namespace labelscope::cli {

class RecordReport {
 public:
  // `tables`: null where stacks need none.
  RecordReport(const RecordOptions& options, const Profile& profile, const Recorder& recorder,
               const TableWorker* tables)
      : options_(options), profile_(profile), recorder_(recorder), tables_(tables) {}

  // Files first: whatever happens to stdout, they are there. False if one could not be written.
  bool write_files(Outputs& outputs);
  // The answer: the tables of --summary, the label keys seen, or why there are none. False if
  // stdout failed.
  bool show_labels(const Outputs& outputs);
  // What went wrong while sampling, as far as it did.
  void say_problems() const;
  void say_files() const;  // those that were written, and those that could not be
  // The end: the numbers that add up, and on the last line what to type next.
  void say_ledger() const;

 private:
  void explain_missing_labels() const;
  void say_missing_keys() const;
  std::string next_step() const;

  const RecordOptions& options_;
  const Profile& profile_;
  const Recorder& recorder_;
  const TableWorker* tables_;
  std::vector<WrittenFile> written_;
  std::vector<Error> write_errors_;
};

}  // namespace labelscope::cli
