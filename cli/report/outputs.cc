// Finds the format of each path, and writes the files.
#include "cli/report/outputs.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <set>
#include <system_error>

#include "cli/text/escape.h"

namespace labelscope::cli {
namespace {

// The name has only characters that all file systems and shells accept.
std::string default_name(const std::string& base_name) {
  std::array<char, 32> time;
  std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::strftime(time.data(), time.size(), "%Y%m%dT%H%M%SZ", &utc);
  return "labelscope-" + base_name + "-" + time.data();
}

}  // namespace

Result<Outputs> Outputs::open(std::vector<std::string> paths, std::optional<Format> format,
                              bool overwrite, const std::string& base_name) {
  if (paths.empty()) {
    const std::string name = default_name(base_name);
    for (const Format& one : kFormats) {
      const bool wanted = format ? *format == one : one.by_default;
      if (wanted) paths.push_back(name + std::string(one.extension));
    }
  }
  Outputs outputs;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    std::error_code ignored;
    std::string canonical = path == "-" ? path
                                        : std::filesystem::weakly_canonical(
                                              std::filesystem::absolute(path, ignored), ignored)
                                              .string();
    if (canonical != "/dev/null" && !seen.insert(canonical).second) {
      return Error{ErrorCode::kUnsupported, "--output " + path + ": the same file twice"};
    }
    Format chosen = format ? *format : format_from_path(path).value_or(Format::kPprof);
    if (path == "-" && chosen.binary && ::isatty(STDOUT_FILENO) == 1) {
      return Error{ErrorCode::kUnsupported,
                   "--output -: " + std::string(chosen.name) +
                       " is binary and stdout is a terminal; redirect it, or name a file"};
    }
    auto file = OutputFile::open(path, overwrite);
    if (!file) return std::move(file).error();
    outputs.outputs_.push_back({*std::move(file), chosen});
  }
  return outputs;
}

bool Outputs::can_be_named() const {
  return std::all_of(outputs_.begin(), outputs_.end(),
                     [](const Output& output) { return output.file.can_be_named(); });
}

bool Outputs::take_stdout() const {
  return std::any_of(outputs_.begin(), outputs_.end(),
                     [](const Output& output) { return output.file.path() == "-"; });
}

std::size_t Outputs::timed_samples() const {
  std::size_t most = 0;
  for (const Output& output : outputs_) most = std::max(most, output.format.timed_samples);
  return most;
}

Written Outputs::write(const Profile& profile, const Profile& shown,
                       const RenderOptions& options) {
  Written written;
  const auto write_one = [&](Output& output) {
    const Profile& of = output.format == Format::kJsonl ? profile : shown;
    Status status = output.file.write(
        [&](std::ostream& out) { return output.format.render(of, options, out); });
    if (status) {
      written.files.push_back({output.file.path(), output.format, output.file.size()});
    } else {
      written.errors.push_back(std::move(status).error());
    }
  };
  // Recordings are written first: if the disk has no room for all files, the others can be made
  // from them later.
  for (const bool recordings : {true, false}) {
    for (Output& output : outputs_) {
      if ((output.format == Format::kJsonl) == recordings) write_one(output);
    }
  }
  return written;
}

}  // namespace labelscope::cli
