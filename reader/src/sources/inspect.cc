// inspect_file(): ElfImage asked everything, and judged by the label source.
#include "labelscope/inspect.h"

#include <fcntl.h>

#include <cerrno>

#include "elf/debug_information.h"
#include "elf/foreign_file.h"
#include "sources/custom_labels/custom_labels.h"
#include "sources/file_facts.h"

namespace labelscope {
namespace {

void read_version(const ElfImage& image, FileInspection& file) {
  const auto& symbol = best_of(file.version);
  std::uint32_t value = 0;
  if (!symbol || !can_be_version(*symbol)) return;
  if (!image.read(symbol->value, std::as_writable_bytes(std::span(&value, 1)))) return;
  file.version_value = value;
  file.version_writable = image.stays_writable(symbol->value);
}

Result<FileInspection> inspect_by(const LabelSource& source, const ElfImage& image,
                                  std::string_view name, const std::string& foreign_platform) {
  FileInspection file;
  file.source = source.number();
  file.machine = image.machine();
  file.foreign_platform = foreign_platform;
  file.executable = image.executable();
  file.build_id = image.build_id();
  file.has_dynamic_symbols = image.has_dynamic_symbols();
  file.has_symtab = image.has_symtab();
  file.abi_name = source.is_publisher_name(name);
  file.tls = image.tls();
  if (Status found = find_symbols(source, image, /*everything=*/true, file); !found) {
    return std::move(found).error();
  }
  read_version(image, file);
  auto relocations = image.tls_relocations(source.variable_symbol());
  if (!relocations) return std::move(relocations).error();
  keep_relocations(*relocations, file);
  source.judge(name, file);
  return file;
}

Result<FileInspection> inspect_image(const ElfImage& image, std::string_view name,
                                     const std::string& foreign_platform) {
  const auto sources = label_sources();
  auto chosen = inspect_by(*sources.front(), image, name, foreign_platform);
  if (!chosen || is_readable(chosen->verdict)) return chosen;
  for (const LabelSource* source : sources.subspan(1)) {
    auto other = inspect_by(*source, image, name, foreign_platform);
    if (!other) continue;
    if (is_readable(other->verdict)) return other;
    if (chosen->verdict == Verdict::kNothing && other->verdict != Verdict::kNothing) chosen = other;
  }
  return chosen;
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNothing:
      return "nothing";
    case Verdict::kBroken:
      return "broken";
    case Verdict::kReadable:
      return "readable";
    case Verdict::kCompliant:
      return "compliant";
  }
  return "unknown";
}

std::string_view file_access_name(FileAccess access) {
  switch (access) {
    case FileAccess::kLocalExec:
      return "local exec";
    case FileAccess::kTlsDesc:
      return "TLSDESC";
    case FileAccess::kInitialExec:
      return "initial exec";
    case FileAccess::kGeneralDynamic:
      return "general dynamic";
    case FileAccess::kLocalDynamic:
      return "local dynamic";
  }
  return "unknown";
}

Result<FileInspection> inspect_file(UniqueFd file, std::string_view name) {
  const UniqueFd again(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  if (!again.valid()) return system_error(errno, "duplicating the file's descriptor");
  auto image = ElfImage::open(std::move(file));
  auto platform = foreign_platform(again);
  if (!image) {
    const bool foreign = image.error().code == ErrorCode::kUnsupported && platform;
    if (!foreign || !foreign_publisher(again)) return std::move(image).error();
    FileInspection seen;
    seen.foreign_platform = *std::move(platform);
    judge_foreign(seen);
    return seen;
  }
  if (has_only_debug_information(again)) return only_debug_information();
  return inspect_image(*image, name, platform.value_or(std::string()));
}

}  // namespace labelscope
