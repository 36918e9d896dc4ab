// Formats: a Profile in, bytes out. Pure: no file is opened here, nothing is printed.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

enum class Format { kPprof, kFolded, kJsonl };

struct RenderOptions {
  // Label keys whose values become root frames ("key=value"), outermost first. Where no label has
  // the key, "pid", "thread_id", "thread_name" and "comm" mean our own. A sample without the key
  // gets "key=<none>", an unreadable one "key=<unreadable>". Applies to every format with stacks
  // (not to the lossless recording).
  std::vector<std::string> group_by;
};

// "pprof", "folded", "jsonl"; nullopt for any other word.
std::optional<Format> format_from_name(std::string_view name);
// By extension: .pb.gz, .folded, .jsonl; nullopt for any other.
std::optional<Format> format_from_path(std::string_view path);
std::string_view format_name(Format format);

// All of them fail with kMalformed on a profile whose tables contradict each other (rows.h), and
// with kSystem when `out` does not take every byte; `out` then holds part of the output.

// gzip-compressed pprof protobuf (profile.proto of google/pprof).
Status render_pprof(const Profile& profile, const RenderOptions& options, std::ostream& out);
// One line a stack, root first: "frame;frame;frame nanoseconds".
Status render_folded(const Profile& profile, const RenderOptions& options, std::ostream& out);
// The lossless recording: docs/recording-format.md.
Status render_jsonl(const Profile& profile, std::ostream& out);

Status render(Format format, const Profile& profile, const RenderOptions& options,
              std::ostream& out);

}  // namespace labelscope::cli
