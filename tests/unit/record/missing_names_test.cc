// Tests which files left frames without names: ordered by samples, in few lines, with all text
// escaped.
#include "cli/record/missing_names.h"

#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

// Modules with one location each, which has a name, or none and the reason.
struct Frames {
  Index add(const std::string& path, const std::string& problem, bool named) {
    ProfileModule module;
    module.path = path;
    module.symbol_problem = problem;
    profile.modules.push_back(module);
    Location location;
    location.module = static_cast<Index>(profile.modules.size() - 1);
    // A path with an offset is no name.
    location.lines = {{path + "+0x10", named ? "name" : "", "", 0}};
    profile.locations.push_back(location);
    return static_cast<Index>(profile.locations.size() - 1);
  }
  void sample(std::vector<Index> frames, std::uint64_t count) {
    profile.stacks.push_back({std::move(frames), LS_STACK_ROOT});
    SampleRow row;
    row.stack = static_cast<Index>(profile.stacks.size() - 1);
    row.count = count;
    profile.rows.push_back(row);
  }
  Profile profile;
};

}  // namespace

TEST_CASE("missing_names: the files that lack most names come first, with reason and share") {
  Frames frames;
  const Index main = frames.add("/bin/prog", "", true);
  const Index xz = frames.add("/lib/liblzma.so.5", "it is stripped", false);
  const Index jit = frames.add("[anon]", "no map", false);
  const Index other = frames.add("/lib/liblzma.so.5", "it is stripped", false);
  frames.sample({xz, main}, 30);
  frames.sample({other, main}, 10);
  frames.sample({jit, main}, 10);
  const Index named = frames.add("[anon]", "no map", true);
  frames.sample({named}, 1);
  const std::vector<std::string> lines = missing_names(frames.profile);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "50.5% of the frames have a name. Without one:");
  CHECK(lines[1] == "  39.6% in /lib/liblzma.so.5 (40 of its 40 frames): it is stripped");
  CHECK(lines[2] == "  9.9% in [anon] (10 of its 11 frames): no map");
}

TEST_CASE("missing_names: what is left out is reported once for a file, though all have names") {
  Frames frames;
  const Index split = frames.add("/bin/split", "its .dwo is not read", true);
  const Index again = frames.add("/bin/split", "its .dwo is not read", true);
  const Index seldom = frames.add("/bin/seldom", "packed", true);
  frames.sample({split, again, frames.add("/bin/prog", "", true)}, 30);
  frames.sample({frames.add("/bin/prog", "", true)}, 39);
  frames.sample({seldom}, 1);
  CHECK(missing_names(frames.profile) ==
        std::vector<std::string>{
            "Something is left out of /bin/split (46.2% of the frames): its .dwo is not read"});
}

TEST_CASE("missing_names: nothing is said where nearly all have one, and few lines otherwise") {
  Frames frames;
  const Index main = frames.add("/bin/prog", "", true);
  frames.sample({main}, 995);
  frames.sample({frames.add("/lib/a\x1b[31m", "why\x1b", false)}, 5);
  CHECK(missing_names(frames.profile).empty());
  for (int i = 0; i < 20; ++i) {
    frames.sample({frames.add("/lib/\x1b" + std::to_string(i), "why\x1b", false)}, 100);
  }
  const std::vector<std::string> lines = missing_names(frames.profile);
  CHECK(lines.size() == 5);
  CHECK(lines.back().ends_with(" elsewhere"));
  for (const std::string& line : lines) CHECK(line.find('\x1b') == std::string::npos);
  CHECK(missing_names(Profile{}).empty());
}
