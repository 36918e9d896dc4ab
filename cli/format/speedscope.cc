// speedscope's own file format: a profile for each thread, or for each value if the user groups.
//
// Source: https://www.speedscope.app/file-format-schema.json ("sampled" profiles). Its viewer has
// no labels, but it can switch between profiles, so each value of a grouped label is a profile.
// Frames are in a table, because its importer does not merge them: repeated frames have made it run
// out of memory.
#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/format/common/json_values.h"
#include "cli/format/common/rows.h"
#include "cli/format/common/shown_frames.h"
#include "cli/format/format.h"
#include "cli/text/escape.h"
#include "cli/text/shares.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

constexpr const char* kSchema = "https://www.speedscope.app/file-format-schema.json";

// One profile of the file.
struct Track {
  std::string name;
  std::uint64_t weight_ns = 0;
  std::vector<SampleRow> rows;
};

class SpeedscopeRenderer {
 public:
  SpeedscopeRenderer(const Profile& profile, const RenderOptions& options)
      : profile_(profile), options_(options), shown_(profile) {}

  Status render(std::ostream& out) {
    const std::vector<Track> tracks = take_tracks();
    out << R"({"$schema":)" << Json(kSchema).dump() << R"(,"exporter":)"
        << Json(escape_terminal("labelscope " + profile_.tool_version)).dump() << R"(,"name":)"
        << Json(title()).dump() << R"(,"activeProfileIndex":0,"profiles":[)";
    for (std::size_t i = 0; i < tracks.size() && out; ++i) {
      out << (i == 0 ? "\n" : ",\n");
      write_track(tracks[i], out);
    }
    // Frames come last, when all are known.
    out << R"(],"shared":{"frames":[)";
    const std::vector<ShownFrame>& frames = shown_.frames();
    for (std::size_t i = 0; i < frames.size() && out; ++i) {
      Json frame{{"name", frame_name(frames[i])}};
      if (!frames[i].file.empty()) frame["file"] = escape_terminal(frames[i].file);
      out << (i == 0 ? "\n" : ",\n") << frame.dump();
    }
    out << "]}}\n";
    return flush_output(out);
  }

 private:
  std::string title() const {
    return profile_.command_line.empty() ? "labelscope" : escape_terminal(profile_.command_line);
  }

  static std::string frame_name(const ShownFrame& frame) {
    std::string name = frame.name.empty() ? std::string(kEmptyText) : escape_terminal(frame.name);
    if (frame.kind == ShownFrame::Kind::kKernel) name += " [kernel]";
    return name;
  }

  // Samples are in the order of time if each has one; time that no sample shows comes last.
  // Otherwise equal ones are merged and in the
  // order of stacks, and the names of all profiles say so.
  std::vector<Track> take_tracks() {
    const bool timed = profile_.rows.size() <= Format::kSpeedscope.timed_samples &&
                       std::all_of(profile_.rows.begin(), profile_.rows.end(),
                                   [](const SampleRow& row) { return !lacks_time(row); });
    std::vector<SampleRow> rows = profile_.rows;
    if (timed) {
      std::stable_sort(rows.begin(), rows.end(), [](const SampleRow& a, const SampleRow& b) {
        return std::pair(a.count == 0, a.time_ns) < std::pair(b.count == 0, b.time_ns);
      });
    } else {
      rows = aggregate_rows(profile_, {.label_set = !options_.group_by.empty(), .flags = 0});
    }
    std::map<std::string, Track> by_name;
    for (const SampleRow& row : rows) {
      std::string name = track_name(row);
      Track& track = by_name[name];
      track.name = std::move(name) + (timed ? "" : " (not in the order of time)");
      track.weight_ns += row.weight_ns;
      track.rows.push_back(row);
    }
    std::vector<Track> tracks;
    tracks.reserve(by_name.size());
    for (auto& [name, track] : by_name) tracks.push_back(std::move(track));
    std::stable_sort(tracks.begin(), tracks.end(),
                     [](const Track& a, const Track& b) { return a.weight_ns > b.weight_ns; });
    return tracks;
  }

  // Each of several kinds of time has profiles of its own.
  std::string track_name(const SampleRow& row) const {
    const std::string of_kind =
        profile_.has_kinds() ? ", " + profile_.values[row.value].name : std::string();
    return track_name_of_all_kinds(row) + of_kind;
  }

  std::string track_name_of_all_kinds(const SampleRow& row) const {
    if (options_.group_by.empty()) return escape_terminal(thread_title(shown_.rows(), row));
    std::string name;
    for (const std::string& key : options_.group_by) {
      name += (name.empty() ? "" : ", ") + escape_terminal(shown_.rows().group_frame(row, key));
    }
    return name;
  }

  void write_track(const Track& track, std::ostream& out) {
    std::string samples;
    std::string weights;
    std::vector<ShownFrames::Number> before;
    std::uint64_t weight_ns = 0;
    const auto end_sample = [&] {
      if (before.empty()) return;
      for (std::size_t i = 0; i < before.size(); ++i) {
        samples += (i == 0 ? (samples.empty() ? "[" : ",[") : ",") + std::to_string(before[i]);
      }
      samples += ']';
      weights += (weights.empty() ? "" : ",") + std::to_string(weight_ns);
      weight_ns = 0;
    };
    for (const SampleRow& row : track.rows) {
      std::vector<ShownFrames::Number> frames = shown_.above(row, RenderOptions{});
      const std::vector<ShownFrames::Number>& stack = shown_.stack(row.stack);
      frames.insert(frames.end(), stack.begin(), stack.end());
      // Neighbours with the same stack become one sample with their summed time.
      if (frames != before) {
        end_sample();
        before = std::move(frames);
      }
      weight_ns += row.weight_ns;
    }
    end_sample();
    out << R"({"type":"sampled","name":)" << Json(track.name).dump() << R"(,"unit":)"
        << Json(unit()).dump() << R"(,"startValue":0,"endValue":)" << track.weight_ns
        << R"(,"samples":[)" << samples << R"(],"weights":[)" << weights << "]}";
  }

  // speedscope knows times and bytes.
  std::string unit() const {
    const ValueType whole = profile_.whole_value();
    return whole.is_time() || whole.unit == "bytes" ? whole.unit : "none";
  }

  const Profile& profile_;
  const RenderOptions& options_;
  ShownFrames shown_;
};

}  // namespace

Status render_speedscope(const Profile& profile, const RenderOptions& options, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  return SpeedscopeRenderer(profile, options).render(out);
}

}  // namespace labelscope::cli
