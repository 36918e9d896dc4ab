// Names of formats, and the one switch over them.
#include "cli/format/format.h"

#include <array>

namespace labelscope::cli {
namespace {

struct FormatNames {
  Format format;
  std::string_view name;
  std::string_view extension;
};

constexpr std::array<FormatNames, 3> kFormats{{
    {Format::kPprof, "pprof", ".pb.gz"},
    {Format::kFolded, "folded", ".folded"},
    {Format::kJsonl, "jsonl", ".jsonl"},
}};

}  // namespace

std::optional<Format> format_from_name(std::string_view name) {
  for (const FormatNames& entry : kFormats) {
    if (entry.name == name) return entry.format;
  }
  return std::nullopt;
}

std::optional<Format> format_from_path(std::string_view path) {
  for (const FormatNames& entry : kFormats) {
    if (path.ends_with(entry.extension)) return entry.format;
  }
  return std::nullopt;
}

std::string_view format_name(Format format) {
  for (const FormatNames& entry : kFormats) {
    if (entry.format == format) return entry.name;
  }
  return "unknown";
}

Status render(Format format, const Profile& profile, const RenderOptions& options,
              std::ostream& out) {
  switch (format) {
    case Format::kPprof:
      return render_pprof(profile, options, out);
    case Format::kFolded:
      return render_folded(profile, options, out);
    case Format::kJsonl:
      return render_jsonl(profile, out);
  }
  return Error{ErrorCode::kUnsupported, "this format cannot be rendered"};
}

}  // namespace labelscope::cli
