// Firefox Profiler's "processed profile" format: a track for each thread, labels as markers.
//
// Source: github.com/firefox-devtools/profiler, docs-developer/CHANGELOG-formats.md and
// src/types/profile.ts. This is version 60: the first with tables that all threads share. Later
// viewers upgrade it.
//
// A marker is an interval on a thread. There is one for each label and run of samples that have it,
// and a row of the marker chart for each key:
//
//   tenant      |---- 42 ----|-- 7 --|      |- 42 -|
//   http.route  |- /pay -|-- /list --|      |/pay|
//   samples     s    s   s    s      s       s    s
//
// The viewer's search takes "tenant:42" and "http_route:/pay", and its "drop samples outside of
// markers matching" keeps the samples at or after the start of a marker and before its end. So a
// marker begins at its first sample and ends at the next sample of the thread, or a period after
// its last one if no sample comes before that.
//
// Rows without a time (later ones of a long recording) are on a track of their own, whose name says
// so. They follow one another there, each as long as its weight.
#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/format/common/json_values.h"
#include "cli/format/common/ledger_text.h"
#include "cli/format/common/rows.h"
#include "cli/format/common/shown_frames.h"
#include "cli/format/firefox/firefox_tables.h"
#include "cli/format/format.h"
#include "cli/profile/index_table.h"
#include "cli/text/escape.h"
#include "cli/text/shares.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

constexpr int kVersion = 60;
constexpr std::string_view kOutcomeKey = "labels unreadable";

// The field of a label's marker. The viewer's search takes only letters, digits and "_" in front of
// ":", and no capitals; labels of markers refer to fields by name. Each key has its own type of
// marker, so keys that look the same here still differ.
std::string field_name(const std::string& key) {
  std::string name;
  for (const char c : key) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    name += upper ? static_cast<char>(c - 'A' + 'a') : plain ? c : '_';
  }
  // The viewer gives these names a meaning of their own.
  return name == "type" || name == "cause" ? "label_" + name : name;
}

// Later rows of a recording that has more lose their times, and equal ones are merged. The recorder
// does the same if no other format wants more.
std::vector<SampleRow> rows_of(const Profile& profile) {
  std::vector<SampleRow> rows;
  IndexTable untimed;
  for (SampleRow row : profile.rows) {
    if (rows.size() >= Format::kFirefox.timed_samples) row.time_ns = 0;
    const auto next = static_cast<Index>(rows.size());
    const Index known = row.time_ns != 0 ? next : untimed.find_or_insert(row, rows);
    if (known == next) {
      rows.push_back(row);
    } else {
      rows[known].count += row.count;
      rows[known].weight_ns += row.weight_ns;
    }
  }
  return rows;
}

struct Marker {
  std::string key;    // escaped
  std::string value;  // escaped
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
};

struct Track {
  Index thread = kNoIndex;
  bool timed = true;
  // Times are since the start of the recording, and each is later than the one before.
  std::vector<SampleRow> rows;
  std::vector<std::uint32_t> stacks;  // numbers of the stack table, by row
  std::vector<Marker> markers;
};

class FirefoxRenderer {
 public:
  FirefoxRenderer(const Profile& profile, const RenderOptions& options)
      : profile_(profile), options_(options), shown_(profile), tables_(profile, shown_) {}

  Status render(std::ostream& out) {
    name_processes();
    take_tracks();
    for (Track& track : tracks_) {
      add_stacks(track);
      add_markers(track);
    }
    out << "{\"meta\":" << meta().dump() << ",\n\"libs\":" << tables_.libs().dump()
        << ",\n\"threads\":[";
    for (std::size_t i = 0; i < tracks_.size() && out; ++i) {
      out << (i == 0 ? "\n" : ",\n");
      write_track(tracks_[i], out);
    }
    out << "],\n\"shared\":";
    tables_.write(out);
    out << "}\n";
    return flush_output(out);
  }

 private:
  void take_tracks() {
    std::map<std::pair<Index, bool>, Track> by_thread;
    for (const SampleRow& row : rows_of(profile_)) {
      const bool timed = row.time_ns != 0;
      Track& track = by_thread[{row.thread, !timed}];
      track.thread = row.thread;
      track.timed = timed;
      track.rows.push_back(row);
    }
    for (auto& [key, track] : by_thread) {
      if (track.timed) {
        std::stable_sort(
            track.rows.begin(), track.rows.end(),
            [](const SampleRow& a, const SampleRow& b) { return a.time_ns < b.time_ns; });
      }
      std::uint64_t next_ns = 0;
      for (SampleRow& row : track.rows) {
        const std::uint64_t since =
            row.time_ns - std::min(row.time_ns, profile_.start_monotonic_ns);
        // No interval could separate two samples of one moment.
        row.time_ns = std::max(next_ns, track.timed ? since : 0);
        next_ns = row.time_ns + std::max<std::uint64_t>(1, track.timed ? 1 : row.weight_ns);
      }
      tracks_.push_back(std::move(track));
    }
  }

  void add_stacks(Track& track) {
    for (const SampleRow& row : track.rows) {
      track.stacks.push_back(tables_.stack(shown_.above(row, options_), row.stack));
    }
  }

  // The labels of a row. If they could not be read, the reason is there instead.
  std::map<std::string, std::string> labels_of(const SampleRow& row) {
    std::map<std::string, std::string> labels;
    for (const Label& label : shown_.rows().label_set(row)) {
      const std::string key =
          label.key.empty() ? std::string(kEmptyText) : escape_terminal(label.key);
      const std::string value = shown_.rows().value(row, label.key).value_or("");
      labels.try_emplace(key, value.empty() ? std::string(kEmptyText) : escape_terminal(value));
    }
    if (is_unreadable(row.outcome)) {
      labels.try_emplace(std::string(kOutcomeKey), outcome_name(row.outcome));
    }
    return labels;
  }

  void add_markers(Track& track) {
    std::map<std::string, Marker> open;
    for (std::size_t i = 0; i < track.rows.size(); ++i) {
      const SampleRow& row = track.rows[i];
      const std::uint64_t own_end =
          row.time_ns +
          std::max<std::uint64_t>(1, track.timed ? profile_.period_ns : row.weight_ns);
      const std::uint64_t end =
          i + 1 < track.rows.size() ? std::min(own_end, track.rows[i + 1].time_ns) : own_end;
      const bool again = i > 0 && track.rows[i - 1].label_set == row.label_set &&
                         track.rows[i - 1].outcome == row.outcome;
      if (again) {
        for (auto& [key, marker] : open) marker.end_ns = end;
        continue;
      }
      std::map<std::string, Marker> now;
      for (auto& [key, value] : labels_of(row)) {
        auto known = open.find(key);
        if (known != open.end() && known->second.value == value) {
          now[key] = std::move(known->second);
          open.erase(known);
        } else {
          now[key] = {key, value, row.time_ns, end};
        }
        now[key].end_ns = end;
      }
      for (auto& [key, marker] : open) track.markers.push_back(std::move(marker));
      open = std::move(now);
    }
    for (auto& [key, marker] : open) track.markers.push_back(std::move(marker));
    std::stable_sort(track.markers.begin(), track.markers.end(),
                     [](const Marker& a, const Marker& b) { return a.start_ns < b.start_ns; });
    for (const Marker& marker : track.markers) keys_.insert(marker.key);
  }

  Json meta() const {
    Json schema = Json::array();
    for (const std::string& key : keys_) {
      const std::string field = field_name(key);
      schema.push_back({{"name", "label " + key},
                        {"display", {"marker-chart", "marker-table", "timeline-overview"}},
                        {"chartLabel", "{marker.data." + field + "}"},
                        {"tableLabel", "{marker.data." + field + "}"},
                        {"tooltipLabel", "{marker.name}: {marker.data." + field + "}"},
                        {"fields", {{{"key", field}, {"label", key}, {"format", "unique-string"}}}},
                        {"isStackBased", false}});
    }
    Json extra = Json::array();
    for (const auto& [label, value] : std::initializer_list<std::pair<const char*, std::string>>{
             {"Part", remarks_line(profile_)},
             {"Samples", ledger_line(profile_)},
             {"Time", time_line(profile_)},
             {"Stacks", stacks_line(profile_.ledger)},
             {"Kernel", profile_.kernel_release}}) {
      if (value.empty()) continue;
      extra.push_back({{"label", label}, {"format", "string"}, {"value", escape_terminal(value)}});
    }
    return {{"version", 24},  // version of Gecko's own format, which viewers ignore here
            {"preprocessedProfileVersion", kVersion},
            {"product", "labelscope"},
            {"importedFrom", escape_terminal("labelscope " + profile_.tool_version)},
            {"arguments", escape_terminal(profile_.command_line)},
            {"startTime", static_cast<double>(profile_.start_unix_ns) / 1e6},
            {"profilingStartTime", 0},
            {"profilingEndTime", static_cast<double>(profile_.duration_ns) / 1e6},
            {"interval", static_cast<double>(profile_.period_ns) / 1e6},
            {"processType", 0},
            {"stackwalk", 1},
            {"debug", false},
            {"platform", "Linux"},
            {"oscpu", "Linux"},
            {"symbolicated", true},
            {"symbolicationNotSupported", true},
            {"usesOnlyOneStackType", true},
            {"sourceCodeIsNotOnSearchfox", true},
            {"keepProfileThreadOrder", false},
            {"sampleUnits", {{"time", "ms"}, {"eventDelay", "ms"}, {"threadCPUDelta", "ns"}}},
            {"categories", FirefoxTables::categories()},
            {"markerSchema", std::move(schema)},
            {"extra", Json::array({{{"label", "Recording"}, {"entries", std::move(extra)}}})}};
  }

  // The viewer knows times, bytes, and numbers of things.
  std::string_view weight_type() const {
    if (values_.is_time()) return "tracing-ms";
    return values_.unit == "bytes" ? "bytes" : "samples";
  }

  std::string weight_text(std::uint64_t weight) const {
    return values_.is_time() ? ms_text(weight) : std::to_string(weight);
  }

  // The viewer takes tracks of one number for one process, so "42.2" is the second that had 42.
  void name_processes() {
    std::map<Pid, unsigned> seen;
    for (const Process& process : profile_.processes) {
      const unsigned which = ++seen[process.pid];
      pids_.push_back(std::to_string(raw(process.pid)) +
                      (which == 1 ? std::string() : '.' + std::to_string(which)));
    }
  }

  std::string pid_text(const Thread* thread) const {
    return thread == nullptr || thread->process >= pids_.size() ? "0" : pids_[thread->process];
  }

  void write_track(const Track& track, std::ostream& out) {
    const RowLabels& labels = shown_.rows();
    SampleRow any;
    any.thread = track.thread;
    const Thread* thread = labels.thread(any);
    std::string name = thread == nullptr ? "[unknown thread]" : escape_terminal(thread->name);
    if (!track.timed) name += " (without times)";
    const Json head{{"name", name},
                    {"processName", escape_terminal(process_title(labels, any))},
                    {"processType", "default"},
                    {"pid", pid_text(thread)},
                    {"tid", thread == nullptr ? 0 : raw(thread->tid)},
                    {"isMainThread", thread != nullptr && raw(thread->tid) == raw(labels.pid(any))},
                    {"showMarkersInTimeline", true},
                    {"processStartupTime", 0},
                    {"processShutdownTime", nullptr},
                    {"registerTime", 0},
                    {"unregisterTime", nullptr},
                    {"pausedRanges", Json::array()}};
    std::string text = head.dump();
    text.pop_back();
    text += ",\n\"samples\":{\"length\":" + std::to_string(track.rows.size()) +
            ",\"weightType\":\"" + std::string(weight_type()) + '"';
    const std::size_t count = track.rows.size();
    append_array(text, "stack", count,
                 [&](std::size_t i) { return std::to_string(track.stacks[i]); });
    append_array(text, "time", count,
                 [&](std::size_t i) { return ms_text(track.rows[i].time_ns); });
    append_array(text, "weight", count,
                 [&](std::size_t i) { return weight_text(track.rows[i].weight_ns); });
    // This is time on a processor, if the recording distinguishes it from other time.
    const ValueType on_cpu = value_of_kind(LS_ON_CPU);
    if (std::ranges::find(profile_.values, on_cpu) != profile_.values.end()) {
      append_array(text, "threadCPUDelta", count, [&](std::size_t i) {
        const SampleRow& row = track.rows[i];
        return std::to_string(profile_.values[row.value] == on_cpu ? row.weight_ns : 0);
      });
    }
    const std::size_t markers = track.markers.size();
    text += "},\n\"markers\":{\"length\":" + std::to_string(markers);
    append_array(text, "name", markers, [&](std::size_t i) {
      return std::to_string(tables_.string(track.markers[i].key));
    });
    append_array(text, "startTime", markers,
                 [&](std::size_t i) { return ms_text(track.markers[i].start_ns); });
    append_array(text, "endTime", markers,
                 [&](std::size_t i) { return ms_text(track.markers[i].end_ns); });
    append_array(text, "phase", markers, [](std::size_t) { return "1"; });  // 1: an interval
    append_array(text, "category", markers,
                 [](std::size_t) { return std::to_string(FirefoxTables::kOther); });
    append_array(text, "data", markers, [&](std::size_t i) {
      const Marker& marker = track.markers[i];
      return Json{{"type", "label " + marker.key},
                  {field_name(marker.key), tables_.string(marker.value)}}
          .dump();
    });
    out << text << "}}";
  }

  const Profile& profile_;
  const RenderOptions& options_;
  const ValueType values_ = profile_.whole_value();
  ShownFrames shown_;
  FirefoxTables tables_;
  std::vector<std::string> pids_;  // by process
  std::vector<Track> tracks_;
  std::set<std::string> keys_;
};

}  // namespace

Status render_firefox(const Profile& profile, const RenderOptions& options, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  return FirefoxRenderer(profile, options).render(out);
}

}  // namespace labelscope::cli
