// Formats: a Profile in, bytes out. Formats are pure: they open no files and print nothing.
//
// A format is a file in this folder with its render function. That function is declared below, and
// has a row in kFormats.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

struct RenderOptions {
  // Label keys whose values become root frames ("key=value"), outermost first. If no label has the
  // key, "pid", "thread_id", "thread_name" and "comm" mean our own values. A sample without the key
  // gets "key=<none>", an unreadable one "key=<unreadable>". It applies to every format with stacks
  // (not to the lossless recording).
  std::vector<std::string> group_by;
  // A key with the values "A" and "B", which the page compares at first; empty: none.
  std::string compare_by{};
  // The names of the files that the profile was read from. The page has them as its title if the
  // recorded command is not known.
  std::string source{};
};

// Each function fails with kMalformed on a profile whose tables contradict each other (rows.h), and
// with kSystem when `out` does not take every byte; `out` then holds part of the output.
using Render = Status(const Profile& profile, const RenderOptions& options, std::ostream& out);
Render render_pprof, render_folded, render_jsonl, render_html, render_speedscope, render_firefox,
    render_svg, render_csv, render_otlp;

struct Format {
  std::string_view name;       // value of --format
  std::string_view extension;  // extension of its files
  Render* render;
  bool binary = false;      // not suited for a terminal
  bool by_default = false;  // written if no file is named
  // so many samples have a row each, with their time; later ones share rows
  std::size_t timed_samples = 0;

  bool operator==(const Format& other) const { return name == other.name; }
  static const Format kPprof;  // the default
  static const Format kHtml;
  static const Format kJsonl;
  static const Format kSpeedscope;
  static const Format kFirefox;
};

inline constexpr Format kFormats[] = {
    // Writes gzip-compressed protobuf (profile.proto of google/pprof).
    {.name = "pprof",
     .extension = ".pb.gz",
     .render = render_pprof,
     .binary = true,
     .by_default = true},
    // Writes one line for each stack, root first: "frame;frame;frame nanoseconds".
    {.name = "folded", .extension = ".folded", .render = render_folded},
    // Writes one page for a browser with all samples in it; it shows group_by first. With hours of
    // samples as rows of their own, no browser would open it in seconds.
    {.name = "html",
     .extension = ".html",
     .render = render_html,
     .by_default = true,
     .timed_samples = 1'000'000},
    // Writes the lossless recording: docs/schema/recording-format.md.
    {.name = "jsonl", .extension = ".jsonl", .render = render_jsonl, .timed_samples = SIZE_MAX},
    // Writes JSON for speedscope.app, which needs minutes for more samples in the order of time
    // than these.
    {.name = "speedscope",
     .extension = ".speedscope.json",
     .render = render_speedscope,
     .timed_samples = 100'000},
    // Writes JSON for profiler.firefox.com, with labels as markers.
    {.name = "firefox",
     .extension = ".firefox.json",
     .render = render_firefox,
     .timed_samples = 500'000},
    // Writes a picture of a flame graph, without a script.
    {.name = "svg", .extension = ".svg", .render = render_svg},
    // Writes a table for spreadsheets: time by labels, function and stack end.
    {.name = "csv", .extension = ".csv", .render = render_csv},
    // Writes OpenTelemetry profiles, protobuf of opentelemetry-proto 1.11.0, which calls them
    // alpha.
    {.name = "otlp", .extension = ".otlp", .render = render_otlp, .binary = true},
};
// Returns the row of this name. A name without a row does not compile.
consteval Format format_named(std::string_view name) {
  const Format* format = kFormats;
  while (format->name != name) ++format;
  return *format;
}
inline constexpr Format Format::kPprof = format_named("pprof");
inline constexpr Format Format::kHtml = format_named("html");
inline constexpr Format Format::kJsonl = format_named("jsonl");
inline constexpr Format Format::kSpeedscope = format_named("speedscope");
inline constexpr Format Format::kFirefox = format_named("firefox");

// Finds the format by its extension; nullopt for any other.
inline std::optional<Format> format_from_path(std::string_view path) {
  for (const Format& format : kFormats) {
    if (path.ends_with(format.extension)) return format;
  }
  return std::nullopt;
}

}  // namespace labelscope::cli
