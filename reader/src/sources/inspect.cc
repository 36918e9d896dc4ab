// inspect_file() reads everything from an ElfImage, and lets the label source judge it.
#include "labelscope/inspect.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "elf/elf_image.h"
#include "elf/foreign_file.h"
#include "elf/loader_names.h"
#include "sources/file_inspection.h"
#include "sources/label_source.h"

namespace labelscope {
namespace {

Result<FileInspection> inspect_by(const LabelSource& source, const ElfImage& image,
                                  std::string_view name, const std::string& foreign_platform) {
  FileInspection file;
  file.source = source.about.number;
  file.machine = image.machine();
  file.foreign_platform = foreign_platform;
  file.executable = image.executable();
  file.build_id = image.build_id();
  file.has_dynamic_symbols = image.has_dynamic_symbols();
  file.has_symtab = image.has_symtab();
  file.abi_name = source.is_publisher_name(name);
  file.tls = image.tls();
  Status found = source.find(image, /*everything=*/true, file);
  if (found && source.declares(file)) found = source.study(image, file);
  if (!found) return std::move(found).error();
  read_version(image, file, [&](std::uint64_t address, std::span<std::byte> out) {
    return image.read(address, out);
  });
  if (source.about.variable_symbol != nullptr) {
    auto relocations = image.tls_relocations(source.about.variable_symbol);
    if (!relocations) return std::move(relocations).error();
    keep_relocations(*relocations, file);
  }
  source.judge(name, file);
  return file;
}

// About a file for another platform, it is only known that it defines a source's symbols.
std::optional<FileInspection> inspect_foreign(const UniqueFd& file, std::string_view name,
                                              const std::string& platform) {
  for (const LabelSource* source : label_sources()) {
    std::vector<std::string_view> symbols;
    for (const char* symbol : {source->about.version_symbol, source->about.variable_symbol}) {
      if (symbol != nullptr) symbols.emplace_back(symbol);
    }
    if (!defines_any(file, symbols)) continue;
    FileInspection seen;
    seen.source = source->about.number;
    seen.foreign_platform = platform;
    seen.variable.dynamic.emplace().defined = true;
    source->judge(name, seen);
    return seen;
  }
  return std::nullopt;
}

// Returns how far a file is a publisher: not at all, by an attempt, or so that it can be read.
int standing(const FileInspection& file) {
  return is_readable(file.verdict) ? 2 : file.verdict == Verdict::kNothing ? 0 : 1;
}

std::vector<std::string> needed_publishers(const ElfImage& image) {
  LoaderNameBudget left;
  const auto names = read_loader_names(image, left);
  std::vector<std::string> needed;
  if (!names) return needed;
  for (const std::string& name : names->needed) {
    const bool publishes = std::ranges::any_of(label_sources(), [&](const LabelSource* source) {
      return source->is_publisher_name(name);
    });
    if (publishes) needed.push_back(name);
  }
  return needed;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

Result<FileInspection> inspect_image(const ElfImage& image, std::string_view name,
                                     const std::string& foreign_platform) {
  std::vector<FileInspection> all;
  for (const LabelSource* source : label_sources()) {
    auto one = inspect_by(*source, image, name, foreign_platform);
    if (!one && all.empty()) return std::move(one).error();
    if (one) all.push_back(*std::move(one));
  }
  FileInspection chosen = *std::ranges::max_element(all, {}, standing);  // the first of equal ones
  for (const FileInspection& other : all) {
    if (other.source == chosen.source) continue;
    append(chosen.rules, other.rules);
    append(chosen.findings, other.findings);
  }
  std::ranges::sort(chosen.rules);
  chosen.needs_publishers = needed_publishers(image);
  return chosen;
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  static constexpr std::string_view kNames[] = {"nothing", "broken", "readable", "compliant"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string_view file_access_name(FileAccess access) {
  static constexpr std::string_view kNames[] = {"local exec", "TLSDESC", "initial exec",
                                                "general dynamic", "local dynamic"};
  return kNames[static_cast<std::size_t>(access)];
}

Result<FileInspection> inspect_file(UniqueFd file, std::string_view name) {
  const UniqueFd again(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  if (!again.valid()) return system_error(errno, "duplicating the file's descriptor");
  auto image = ElfImage::open(std::move(file));
  auto platform = foreign_platform(again);
  if (!image) {
    if (image.error().code == ErrorCode::kUnsupported && platform) {
      if (auto foreign = inspect_foreign(again, name, *platform)) return *std::move(foreign);
    }
    return std::move(image).error();
  }
  if (has_only_debug_information(again)) return only_debug_information();
  return inspect_image(*image, name, platform.value_or(std::string()));
}

}  // namespace labelscope
