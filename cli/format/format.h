// Formats: a Profile in, bytes out. Pure: no file is opened here, nothing is printed.
//
// A format is a file here with its render function, and below that function's name and a line of
// kFormats.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

struct RenderOptions {
  // Label keys whose values become root frames ("key=value"), outermost first. Where no label has
  // the key, "pid", "thread_id", "thread_name" and "comm" mean our own. A sample without the key
  // gets "key=<none>", an unreadable one "key=<unreadable>". Applies to every format with stacks
  // (not to the lossless recording).
  std::vector<std::string> group_by;
  // A key with the values "A" and "B", which the page compares from the start; empty: none.
  std::string compare_by{};
  // The files that the profile was read from, by their names: what the page is called where no
  // command is known that has made them.
  std::string source{};
};

// Each fails with kMalformed on a profile whose tables contradict each other (rows.h), and with
// kSystem when `out` does not take every byte; `out` then holds part of the output.
using Render = Status(const Profile& profile, const RenderOptions& options, std::ostream& out);
Render render_pprof, render_folded, render_jsonl, render_html, render_speedscope, render_firefox,
    render_svg, render_csv, render_otlp;

struct Format {
  std::string_view name;       // of --format
  std::string_view extension;  // of its files
  Render* render;
  bool binary = false;            // not for a terminal
  bool by_default = false;        // written where no file is named
  std::size_t timed_samples = 0;  // how many have a row each, with their time; later ones share

  bool operator==(const Format& other) const { return name == other.name; }
  static const Format kPprof;  // unless another one is named
  static const Format kHtml;
  static const Format kJsonl;
  static const Format kSpeedscope;
  static const Format kFirefox;
};

inline constexpr Format kFormats[] = {
    // gzip-compressed protobuf (profile.proto of google/pprof).
    {.name = "pprof",
     .extension = ".pb.gz",
     .render = render_pprof,
     .binary = true,
     .by_default = true},
    // One line a stack, root first: "frame;frame;frame nanoseconds".
    {.name = "folded", .extension = ".folded", .render = render_folded},
    // One page for a browser with all samples in it; group_by is what it shows first. Hours of
    // samples, each by itself, would make no page that a browser opens in seconds.
    {.name = "html",
     .extension = ".html",
     .render = render_html,
     .by_default = true,
     .timed_samples = 1'000'000},
    // The lossless recording: docs/schema/recording-format.md.
    {.name = "jsonl", .extension = ".jsonl", .render = render_jsonl, .timed_samples = SIZE_MAX},
    // JSON of speedscope.app. It needs minutes for more samples in the order of time than these.
    {.name = "speedscope",
     .extension = ".speedscope.json",
     .render = render_speedscope,
     .timed_samples = 100'000},
    // JSON of profiler.firefox.com, with labels as markers.
    {.name = "firefox",
     .extension = ".firefox.json",
     .render = render_firefox,
     .timed_samples = 500'000},
    // A picture of a flame graph, without a script.
    {.name = "svg", .extension = ".svg", .render = render_svg},
    // A table for spreadsheets: time by labels, function and how the stack ended.
    {.name = "csv", .extension = ".csv", .render = render_csv},
    // OpenTelemetry profiles, protobuf of opentelemetry-proto 1.11.0, which calls them alpha.
    {.name = "otlp", .extension = ".otlp", .render = render_otlp, .binary = true},
};
inline constexpr Format Format::kPprof = kFormats[0];
inline constexpr Format Format::kHtml = kFormats[2];
inline constexpr Format Format::kJsonl = kFormats[3];
inline constexpr Format Format::kSpeedscope = kFormats[4];
inline constexpr Format Format::kFirefox = kFormats[5];

// By extension; nullopt for any other.
inline std::optional<Format> format_from_path(std::string_view path) {
  for (const Format& format : kFormats) {
    if (path.ends_with(format.extension)) return format;
  }
  return std::nullopt;
}

}  // namespace labelscope::cli
