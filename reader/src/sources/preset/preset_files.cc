#include "sources/preset/preset_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>

#include "elf/regular_file.h"

namespace labelscope {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kEnding = ".preset";

// A program is two levels below its prefix, and a library of one architecture three.
constexpr int kMostLevels = 3;

fs::path installed_presets(const std::string& program) {
  std::error_code error;
  fs::path folder = fs::canonical(program, error).parent_path();
  for (int level = 1; level < kMostLevels && folder.has_relative_path(); ++level) {
    folder = folder.parent_path();
    fs::path presets = folder / "share/labelscope/presets";
    if (fs::is_directory(presets, error)) return presets;
  }
  return {};
}

std::vector<fs::path> folders(const std::string& program) {
  return {"/etc/labelscope/presets", installed_presets(program)};
}

// Returns why a file may not steer the reader; empty if it may.
std::string refuse_owner(const struct stat& about, const std::string& program) {
  if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return "others than its owner may write it: chmod go-w makes it safe";
  }
  struct stat own {};
  const bool known = ::stat(program.c_str(), &own) == 0;
  if (about.st_uid == 0 || about.st_uid == ::geteuid() || (known && about.st_uid == own.st_uid)) {
    return {};
  }
  return "it belongs to another user, with number " + std::to_string(about.st_uid) +
         ": chown root makes it safe";
}

Result<std::string> read_file(const std::string& path, const std::string& program) {
  auto file = open_regular_file(path);
  if (!file) return std::move(file).error();
  struct stat about {};
  if (::fstat(file->get(), &about) != 0) return system_error(errno, "cannot be read");
  if (std::string why = refuse_owner(about, program); !why.empty()) {
    return Error{ErrorCode::kPermission, std::move(why)};
  }
  // One byte more than a preset may have shows that there is more.
  return read_up_to(*file, kMostPresetBytes + 1);
}

Result<PresetDescription> load_file(const std::string& path, const std::string& program) {
  const auto text = read_file(path, program);
  if (!text) return Error{text.error().code, path + ": " + text.error().context};
  auto preset = parse_preset(*text);
  if (preset) return preset;
  const bool has_line = preset.error().context.starts_with("line ");
  return Error{preset.error().code, path + (has_line ? ", " : ": ") + preset.error().context};
}

// The files of both folders by their preset's name. Those of the administrator come first.
std::map<std::string, std::string> known_files(const std::string& program) {
  std::map<std::string, std::string> files;
  for (const fs::path& folder : folders(program)) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      const fs::path& path = entry->path();
      if (path.extension() == kEnding) files.try_emplace(path.stem().string(), path.string());
    }
  }
  return files;
}

}  // namespace

Result<PresetDescription> load_preset(const std::string& name, const std::string& program) {
  if (name.find('/') != std::string::npos) return load_file(name, program);
  const auto files = known_files(program);
  if (const auto file = files.find(name); file != files.end())
    return load_file(file->second, program);
  const std::string names = known_preset_names(program);
  return Error{ErrorCode::kNotFound,
               "there is no preset " + name +
                   (names.empty() ? std::string("; none is installed") : "; there are " + names) +
                   ". The name of a file has a slash in it"};
}

KnownPresets load_known_presets(const std::string& program) {
  KnownPresets known;
  for (const auto& [name, path] : known_files(program)) {
    auto preset = load_file(path, program);
    if (preset) {
      known.presets.push_back(*std::move(preset));
    } else {
      known.problems.push_back(preset.error().context);
    }
  }
  return known;
}

std::string known_preset_names(const std::string& program) {
  std::string names;
  for (const auto& [name, path] : known_files(program)) names += (names.empty() ? "" : ", ") + name;
  return names;
}

bool fits_by_symbols(const PresetDescription& preset) { return !preset.match.empty(); }

}  // namespace labelscope
