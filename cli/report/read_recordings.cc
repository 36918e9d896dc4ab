#include "cli/report/read_recordings.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <system_error>
#include <tuple>

#include "cli/format/escape.h"
#include "cli/format/ledger_text.h"
#include "cli/format/recording_reader.h"
#include "cli/format/row_labels.h"
#include "cli/host/log.h"
#include "cli/profile/merge.h"

namespace labelscope::cli {
namespace {

Result<ReadRecording> read(const std::string& path) {
  if (path == "-") return read_recording(std::cin);
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) {
    return Error{ErrorCode::kSystem, "it is a directory"};
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return system_error(errno, "cannot open it");
  return read_recording(file);
}

// Keys that conditions may name: our own, and those of labels.
void add_keys(const Profile& profile, std::set<std::string>& keys) {
  keys.insert({std::string(kPidKey), std::string(kThreadIdKey), std::string(kThreadNameKey),
               std::string(kCommKey)});
  for (const LabelSet& labels : profile.label_sets) {
    for (const Label& label : labels) keys.insert(label.key);
  }
}

// A condition on a key that no sample has leaves nothing, or all.
void warn_of_unknown_keys(const Selection& selection, const std::set<std::string>& known) {
  constexpr std::size_t kMostTold = 12;
  for (const Condition& condition : selection.conditions) {
    if (known.contains(condition.key())) continue;
    std::string there;
    std::size_t told = 0;
    for (const std::string& key : known) {
      if (++told > kMostTold) break;
      there += (there.empty() ? "" : ", ") + escape_terminal(key);
    }
    if (known.size() > kMostTold) there += ", ...";
    log::warning("no sample has the label " + escape_terminal(condition.key()) +
                 " of --where; there are: " + there);
  }
}

// Two files that say the same of when and how.
using Identity = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::string, std::string>;
Identity identity_of(const Profile& profile) {
  return {profile.start_unix_ns, profile.start_monotonic_ns, profile.duration_ns,
          profile.command_line, remarks_line(profile)};
}

}  // namespace

ReadRecordings read_recordings(const std::vector<std::string>& paths, const Selection& selection) {
  ReadRecordings all;
  std::set<std::string> keys;
  std::set<Identity> seen;
  for (const std::string& path : paths) {
    const std::string name = path == "-" ? "stdin" : escape_terminal(path);
    auto recording = read(path);
    if (recording) add_keys(recording->profile, keys);
    Status done =
        recording ? select(recording->profile, selection) : Status(std::move(recording).error());
    if (done) {
      for (const std::string& note : recording->notes) {
        log::info(name + ": " + escape_terminal(note));
      }
      for (const std::string& lost : recording->lost) {
        log::warning(name + ": " + escape_terminal(lost));
        recording->profile.remarks.push_back("what could be read of a file: " + lost);
        all.status = kExitRuntimeError;
      }
      const bool told = recording->profile.start_unix_ns != 0;
      if (told && !seen.insert(identity_of(recording->profile)).second) {
        log::warning(name + ": the same recording as one before, so its samples count twice");
      }
      if (all.profile) {
        done = merge(*all.profile, std::move(recording->profile));
      } else {
        all.profile = std::move(recording->profile);
      }
    }
    if (!done) {
      log::error(name + ": " + escape_terminal(done.error().context));
      return {std::nullopt, status_of(done.error())};
    }
  }
  warn_of_unknown_keys(selection, keys);
  return all;
}

}  // namespace labelscope::cli
