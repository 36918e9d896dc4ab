// A flame graph as a picture: the root at the top, values of --group-by as its first rows.
//
//   all samples
//   tenant=42         | tenant=7
//   shop              | shop
//   main              | main
//
// Lines are sorted so that those with the same first frames are neighbours. So a box is open
// for as long as its frame stays in its place, and no tree is needed:
//
//   a;b;c 3     opens a, b, c
//   a;b;d 2     closes c, opens d
//   e     1     closes d, b, a, opens e
//
// It has no script: the title of each box shows its numbers. Everything from a target is escaped
// text.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "cli/format/common/frame_lines.h"
#include "cli/format/common/ledger_text.h"
#include "cli/format/common/rows.h"
#include "cli/format/format.h"
#include "cli/text/escape.h"
#include "cli/text/shares.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

constexpr double kWidth = 1200;
constexpr double kMargin = 10;
constexpr double kRowHeight = 17;
constexpr double kHead = 58;     // room for title and ledger
constexpr double kLetter = 6.7;  // width in a monospaced font of 11 pixels
// Narrower boxes cannot be seen. A label's box is drawn anyway: its title has the label's time.
constexpr double kNarrowest = 0.1;

// A box has the same part of the picture's width as of the time.
struct Box {
  const std::string* text = nullptr;  // escaped for a terminal
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t count = 0;
  std::size_t depth = 0;
};

constexpr const char* kStyle = R"(
svg { background: #fff; color: #15181c; font: 11px ui-monospace, "DejaVu Sans Mono", monospace; }
text { fill: currentColor; }
.b text { fill: #15181c; pointer-events: none; }
.b rect { stroke: #fff; stroke-width: .5; }
.b:hover rect { stroke: #15181c; stroke-width: 1.5; }
.t { font-size: 15px; }
@media (prefers-color-scheme: dark) {
svg { background: #15181c; color: #e6e8eb; }
.b rect { stroke: #15181c; }
.b:hover rect { stroke: #fff; }
}
)";

unsigned hash_of(std::string_view text) {  // by FNV-1a
  unsigned hash = 0x811C9DC5;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
  return hash ^ (hash >> 15);
}

class SvgRenderer {
 public:
  SvgRenderer(const Profile& profile, const RenderOptions& options)
      : profile_(profile), label_rows_(options.group_by.size()), lines_(profile, options) {}

  Status render(std::ostream& out) {
    find_boxes();
    std::size_t deepest = 0;
    for (const Box& box : boxes_) deepest = std::max(deepest, box.depth);
    const double height = kHead + static_cast<double>(deepest + 1) * kRowHeight + kMargin;
    out << R"(<?xml version="1.0" encoding="UTF-8"?>)" << '\n'
        << R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" << decimal(kWidth, 0)
        << R"(" height=")" << decimal(height, 0) << R"(" viewBox="0 0 )" << decimal(kWidth, 0)
        << ' ' << decimal(height, 0) << R"(" role="img" aria-labelledby="title">)" << '\n'
        << R"(<title id="title">Flame graph of )" << escape_xml(title()) << "</title>\n<style>"
        << kStyle << "</style>\n"
        << R"(<text class="t" x="10" y="20">)" << escape_xml(fitting(title(), kWidth / 9.2))
        << "</text>\n"
        << R"(<text x="10" y="36">)" << escape_xml(fitting(times(), kWidth / kLetter))
        << "</text>\n"
        << R"(<text x="10" y="50">)" << escape_xml(fitting(samples(), kWidth / kLetter))
        << "</text>\n";
    for (const Box& box : boxes_) {
      draw(box, out);
      if (!out) break;
    }
    out << "</svg>\n";
    return flush_output(out);
  }

 private:
  std::string title() const {
    return escape_terminal(profile_.command_line.empty() ? "labelscope" : profile_.command_line);
  }
  std::string times() const {
    const std::string part = remarks_line(profile_);
    return escape_terminal((part.empty() ? "" : part + ": ") + time_line(profile_));
  }
  std::string samples() const {
    std::string text = escape_terminal(ledger_line(profile_));
    const std::string stacks = stacks_line(profile_.ledger);
    if (!stacks.empty()) text += "; " + escape_terminal(stacks);
    if (hidden_ > 0) {
      text += "; " + counted(hidden_, "box is", "boxes are") + " too narrow to be drawn";
    }
    return text;
  }

  void find_boxes() {
    for (const FrameLines::Line& line : lines_.lines()) whole_ns_ += line.weight_ns;
    std::vector<Box> open{{&kAll, 0, 0, 0, 0}};
    std::vector<const std::string*> frames;
    std::uint64_t at_ns = 0;
    for (const FrameLines::Line& line : lines_.lines()) {
      lines_.frames(line, frames);
      std::size_t same = 0;
      while (same < frames.size() && same + 1 < open.size() &&
             *open[same + 1].text == *frames[same]) {
        ++same;
      }
      close(open, same + 1, at_ns);
      for (std::size_t i = same; i < frames.size(); ++i) {
        open.push_back({frames[i], at_ns, 0, 0, i + 1});
      }
      for (Box& box : open) box.count += line.count;
      at_ns += line.weight_ns;
    }
    close(open, 0, at_ns);
    // Sorts parents before children, and siblings from left to right.
    std::stable_sort(boxes_.begin(), boxes_.end(),
                     [](const Box& a, const Box& b) { return a.depth < b.depth; });
  }

  void close(std::vector<Box>& open, std::size_t kept, std::uint64_t at_ns) {
    for (; open.size() > kept; open.pop_back()) {
      Box box = open.back();
      box.end_ns = at_ns;
      const bool of_label = box.depth >= 1 && box.depth <= label_rows_;
      if (of_label) label_times_[*box.text] += box.end_ns - box.begin_ns;
      if (of_label || box.depth == 0 || width_of(box) >= kNarrowest) {
        boxes_.push_back(box);
      } else {
        ++hidden_;
      }
    }
  }

  double width_of(const Box& box) const {
    if (whole_ns_ == 0) return kWidth - 2 * kMargin;
    return static_cast<double>(box.end_ns - box.begin_ns) / static_cast<double>(whole_ns_) *
           (kWidth - 2 * kMargin);
  }

  static std::string fitting(const std::string& text, double letters) {
    const auto most = static_cast<std::size_t>(std::max(0.0, letters));
    if (count_columns(text) <= most) return text;
    if (most < 3) return {};
    return std::string(first_columns(text, most - 1)) + "…";
  }

  void draw(const Box& box, std::ostream& out) {
    const double width = width_of(box);
    const double left =
        kMargin + (whole_ns_ == 0 ? 0
                                  : static_cast<double>(box.begin_ns) /
                                        static_cast<double>(whole_ns_) * (kWidth - 2 * kMargin));
    const double top = kHead + static_cast<double>(box.depth) * kRowHeight;
    const std::uint64_t time_ns = box.end_ns - box.begin_ns;
    out << "<g class=\"b\"><title>" << escape_xml(*box.text) << " (" << percent(time_ns, whole_ns_)
        << ", " << with_thousands(time_ns) << ' '
        << (whole_.is_time() ? std::string("ns") : escape_xml(escape_terminal(whole_.unit))) << ", "
        << escape_xml(count_text(box.count, profile_)) << ")</title><rect x=\"" << decimal(left, 2)
        << "\" y=\"" << decimal(top, 0) << "\" width=\"" << decimal(width, 2) << "\" height=\""
        << decimal(kRowHeight - 1, 0) << "\" rx=\"1\" fill=\"" << color_of(box) << "\"/>";
    const std::string shown = fitting(*box.text, (width - 6) / kLetter);
    if (!shown.empty()) {
      out << "<text x=\"" << decimal(left + 3, 2) << "\" y=\"" << decimal(top + 12, 0) << "\">"
          << escape_xml(shown) << "</text>";
    }
    out << "</g>\n";
  }

  // Values of labels get seven hues that people with any kind of colour blindness can distinguish
  // (Okabe and Ito), the first for the one with most time. Functions get shades of warm colours by
  // name.
  std::string color_of(const Box& box) {
    static constexpr std::array<const char*, 7> kValues{"#56b4e9", "#e69f00", "#009e73", "#f0e442",
                                                        "#cc79a7", "#d55e00", "#7fb0d6"};
    if (box.depth == 0) return "#c7cbd1";
    if (box.depth <= label_rows_) {
      if (ranks_.empty()) rank_labels();
      const std::size_t rank = ranks_[*box.text];
      return rank < kValues.size() ? kValues[rank] : "#a3a8ae";
    }
    const unsigned shade = hash_of(*box.text) % 12;
    const bool kernel = box.text->ends_with("_[k]");
    const bool ours = !kernel && box.text->front() == '[';
    return "hsl(" +
           std::to_string(ours     ? 220
                          : kernel ? 14
                                   : 34 + shade) +
           ' ' + std::to_string(ours ? 6 : 58) + "% " + std::to_string(66 + shade) + "%)";
  }

  void rank_labels() {
    std::vector<std::pair<std::string, std::uint64_t>> order(label_times_.begin(),
                                                             label_times_.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    for (std::size_t i = 0; i < order.size(); ++i) ranks_[order[i].first] = i;
  }

  inline static const std::string kAll = "all samples";
  const Profile& profile_;
  const ValueType whole_ = profile_.whole_value();
  std::size_t label_rows_;
  FrameLines lines_;
  std::uint64_t whole_ns_ = 0;
  std::vector<Box> boxes_;
  std::uint64_t hidden_ = 0;
  std::map<std::string, std::uint64_t> label_times_;
  std::map<std::string, std::size_t> ranks_;
};

}  // namespace

Status render_svg(const Profile& profile, const RenderOptions& options, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  return SvgRenderer(profile, options).render(out);
}

}  // namespace labelscope::cli
