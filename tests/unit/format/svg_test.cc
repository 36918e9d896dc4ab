// Tests the flame graph: boxes are as wide as their time, and all text from a target is escaped.
#include <regex>
#include <sstream>

#include "cli/format/format.h"
#include "support/catch.h"
#include "unit/format/profile_maker.h"
#include "unit/format/run_program.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;

namespace {

std::string svg(const Profile& profile, const RenderOptions& options = {}) {
  std::ostringstream out;
  REQUIRE(render_svg(weighed(profile, 1000), options, out).has_value());
  return out.str();
}

struct Drawn {
  std::string title;
  double x = 0, y = 0, width = 0;
};

std::vector<Drawn> boxes_of(const std::string& text) {
  const std::regex box(
      "<g class=\"b\"><title>([^<]*)</title><rect x=\"([0-9.]+)\" y=\"([0-9]+)\" "
      "width=\"([0-9.]+)\"");
  std::vector<Drawn> boxes;
  for (std::sregex_iterator at(text.begin(), text.end(), box), end; at != end; ++at) {
    boxes.push_back({(*at)[1], std::stod((*at)[2]), std::stod((*at)[3]), std::stod((*at)[4])});
  }
  return boxes;
}

}  // namespace

TEST_CASE("svg: a box stands below its caller and is as wide as its time") {
  SmallProfile small;
  small.labelled({{"tenant", "1"}}).count = 3;
  small.sample(small.shop_thread, small.stack({1}), small.no_labels, LS_UNLABELLED);
  const auto boxes = boxes_of(svg(small.profile, {.group_by = {"tenant"}}));
  REQUIRE(boxes.size() == 8);
  CHECK(boxes[0].title == "all samples (100%, 4,000 ns, 4 samples)");
  CHECK(boxes[0].width == 1180);
  CHECK(boxes[1].title == "tenant=1 (75.0%, 3,000 ns, 3 samples)");
  CHECK(boxes[1].width == 885);
  CHECK(boxes[2].title == "tenant=&lt;none&gt; (25.0%, 1,000 ns, 1 sample)");
  CHECK(boxes[2].x == 895);
  CHECK(boxes[2].y == boxes[1].y);
  CHECK(boxes[7].title == "work (75.0%, 3,000 ns, 3 samples)");
  CHECK(boxes[7].y == boxes[0].y + 4 * 17);
}

TEST_CASE("svg: the same function under two callers is two boxes, under one it is one") {
  SmallProfile small;
  const Index a = small.location(small.main_module, 0x404000, {"a"});
  const Index b = small.location(small.main_module, 0x405000, {"b"});
  for (const auto& frames : {std::vector<Index>{0, a, 1}, {0, b, 1}, {a, a, 1}, {0, a, 1}}) {
    small.sample(small.shop_thread, small.stack(frames), small.no_labels, LS_UNLABELLED);
  }
  std::vector<std::string> titles;
  for (const Drawn& box : boxes_of(svg(small.profile))) titles.push_back(box.title);
  CHECK(titles == std::vector<std::string>{
                      "all samples (100%, 4,000 ns, 4 samples)", "shop (100%, 4,000 ns, 4 samples)",
                      "main (100%, 4,000 ns, 4 samples)", "a (75.0%, 3,000 ns, 3 samples)",
                      "b (25.0%, 1,000 ns, 1 sample)", "a (25.0%, 1,000 ns, 1 sample)",
                      "work (50.0%, 2,000 ns, 2 samples)", "work (25.0%, 1,000 ns, 1 sample)"});
}

TEST_CASE("svg: boxes that are too small to see are counted, those of labels are there") {
  SmallProfile small;
  small.labelled({{"tenant", "1"}}).count = 1'000'000;
  small.labelled({{"tenant", "2"}});
  const std::string text = svg(small.profile, {.group_by = {"tenant"}});
  CHECK(boxes_of(text).size() == 6);
  CHECK(text.find("tenant=2 (0.1%, 1,000 ns, 1 sample)") != std::string::npos);
  CHECK(text.find("3 boxes are too narrow to be drawn") != std::string::npos);
}

TEST_CASE("svg: a target's text is text, and XML all the same") {
  SmallProfile small;
  const std::string hostile =
      "</title></style></svg><script>alert(1)</script>\"'&amp;\x01\xff\xEF\xBF\xBE\xE2\x80\xAE";
  small.process(7, hostile);
  small.profile.command_line = hostile;
  small.sample(small.thread(7, 7, hostile),
               small.stack({small.location(small.main_module, 1, {hostile})}),
               small.labels({{"k", hostile}}), LS_LABELLED);
  const std::string text = svg(small.profile, {.group_by = {"k"}});
  CHECK(text.find("<script") == std::string::npos);
  CHECK(text.find("\\x01\\xff\\u{fffe}\\u{202e}") != std::string::npos);
  const ProgramResult parsed =
      run_program({require_program("xmllint"), "--noout", "--nonet", "-"}, text);
  INFO(parsed.err);
  CHECK(parsed.exit_status == 0);
}
