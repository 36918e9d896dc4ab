// Whether all of a cgroup, and nothing else, is recorded all the time.
#include "cli/record/group_members.h"

#include <optional>
#include <set>
#include <string>

#include "support/catch.h"
#include "unit/record/made_up_groups.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

// A recording of /app.
struct Recording {
  explicit Recording(bool is_unified) : files(is_unified) {
    const auto clock = GroupClock::of(recorded, files.proc());
    REQUIRE(clock);
    members.emplace(*clock, files.proc());
    look();
  }
  GroupMembers::Knows knows() {
    return [this](Pid pid) { return recorded.contains(pid) || ended.contains(pid); };
  }
  void look() { members->look(recorded, knows()); }
  std::string end() {
    look();
    members->look_last(recorded, knows());
    return members->doubt();
  }

  MadeUpGroups files;
  std::set<Pid> recorded{Pid{10}, Pid{11}, Pid{12}};
  std::set<Pid> ended;
  std::optional<GroupMembers> members;
};

}  // namespace

TEST_CASE("group members: nothing is said of a group that stays as it is") {
  Recording recording(GENERATE(true, false));
  recording.look();
  CHECK(recording.end().empty());
}

TEST_CASE("group members: a recorded process that leaves, even if it is back at the end") {
  Recording recording(GENERATE(true, false));
  recording.files.set_members("app", "10\n");
  recording.files.set_group(11, "/other");
  recording.look();
  recording.files.set_members("app", "10\n11\n");
  recording.files.set_group(11, "/app");
  CHECK(recording.end() == "process 11 is recorded and was not in it all the time");
}

TEST_CASE("group members: one that leaves after the last look before the end") {
  Recording recording(GENERATE(true, false));
  recording.look();
  recording.files.set_members("app/deep", "");
  recording.files.set_group(12, "/");
  recording.members->look_last(recording.recorded, recording.knows());
  CHECK(recording.members->doubt() == "process 12 is recorded and was not in it all the time");
}

TEST_CASE("group members: one that moves within the group, or ends, has not left it") {
  Recording recording(GENERATE(true, false));
  recording.files.set_members("app", "");
  recording.files.set_group(10, "/app/deep");
  recording.files.set_status(11, 1, 'Z');
  CHECK(recording.end().empty());
}

TEST_CASE("group members: a stranger, even if it has ended before the end") {
  Recording recording(GENERATE(true, false));
  recording.files.add(13, 1);
  recording.look();
  recording.files.set_members("app", "10\n11\n");
  CHECK(recording.end() == "process 13 was in it and was not recorded");
}

TEST_CASE("group members: a process whose fork is reported after the look is none") {
  Recording recording(GENERATE(true, false));
  recording.files.add(17, 1);  // its parent has ended already
  recording.look();
  const bool ends = GENERATE(true, false);
  (ends ? recording.ended : recording.recorded).insert(Pid{17});
  if (ends) recording.files.set_members("app", "10\n11\n");
  if (!ends) recording.files.set_group(17, "/app");
  CHECK(recording.end().empty());
}

// Their time is missing in the recording, and the group's clock is the account that has it.
TEST_CASE("group members: children that could not be followed are no strangers") {
  Recording recording(GENERATE(true, false));
  recording.files.set_members("app", "10\n11\n13\n17\n");
  recording.files.set_status(17, 11, 'R');
  recording.files.set_status(13, 17, 'R');
  recording.look();
  recording.files.set_status(13, 1, 'R');  // the parent has ended
  recording.files.set_members("app", "10\n11\n13\n");
  CHECK(recording.end().empty());
}

TEST_CASE("group members: a group that is removed, and one that somebody joined") {
  Recording recording(GENERATE(true, false));
  SECTION("removed") {
    recording.files.remove_group("app");
    CHECK(recording.end() == "it is gone, or has too many groups");
  }
  SECTION("joined") {
    recording.members->note_entered(Pid{13});
    CHECK(recording.end() == "process 13 came to the recording after it had begun");
  }
}
