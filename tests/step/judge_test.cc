// Tests what one update is, and when it is torn, shown with made-up changes and no program.
#include "cli/step/update_judge.h"
#include "sources/custom_labels/rules.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

SetCheck set_of(LabelSet labels) {
  SetCheck check;
  check.set = {labels.empty() ? CheckedSet::State::kNone : CheckedSet::State::kSet,
               std::move(labels)};
  return check;
}

SetCheck breaking(SetCheck check, RuleId rule) {
  Diagnostic diagnostic;
  diagnostic.rule = rule;
  check.diagnostics.push_back(diagnostic);
  return check;
}

SetCheck unreadable() {
  SetCheck check;
  check.set.state = CheckedSet::State::kUnreadable;
  return breaking(check, abi_v1::kStorageReadable);
}

Change in_place(SetCheck check, std::vector<std::string> chain = {"#1"}) {
  Change change;
  change.check = std::move(check);
  change.chain = std::move(chain);
  return change;
}

Change published(SetCheck check, std::vector<std::string> chain = {"#1"}) {
  Change change = in_place(std::move(check), std::move(chain));
  change.published = true;
  return change;
}

Change declared(SetCheck check, std::uint64_t region) {
  Change change = in_place(std::move(check));
  change.region = region;
  return change;
}

struct Judged {
  std::vector<UpdateFinding> findings;
  UpdateJudge judge;
  explicit Judged(const SetCheck& at_rest)
      : judge(*find_source(LS_SOURCE_CUSTOM_LABELS)->about.updates, at_rest,
              [this](const UpdateFinding& finding) { findings.push_back(finding); }) {}
};

const Label kOld{"k", "old"};
const Label kNew{"k", "new"};
const Label kMixed{"k", "nld"};

}  // namespace

TEST_CASE("update_judge: a value that is neither the old nor the new one is torn") {
  Judged judged(set_of({kOld}));
  judged.judge.add(in_place(set_of({kMixed})), {});
  judged.judge.add(in_place(set_of({kNew})), {});
  judged.judge.finish(set_of({kNew}));
  REQUIRE(judged.findings.size() == 1);
  CHECK(judged.findings[0].rule == abi_v1::kTornUpdate);
  CHECK(judged.findings[0].before.labels == LabelSet{kOld});
  CHECK(judged.findings[0].seen.labels == LabelSet{kMixed});
  CHECK(judged.findings[0].after.labels == LabelSet{kNew});
  CHECK(judged.judge.updates() == 1);
}

TEST_CASE("update_judge: keys show a torn state, and values do not") {
  const Label other{"other", "1"};
  const auto said = [](const LabelSet& before, const LabelSet& seen, const LabelSet& after) {
    Judged judged(set_of(before));
    judged.judge.add(in_place(set_of(seen)), {});
    judged.judge.add(in_place(set_of(after)), {});
    judged.judge.finish(set_of(after));
    return judged.findings.size() == 1 ? judged.findings[0].text : "nothing";
  };
  using Catch::Matchers::EndsWith;
  CHECK_THAT(said({kOld}, {kMixed}, {kNew}), EndsWith(R"(: the value of "k" is none of theirs)"));
  CHECK_THAT(said({kOld}, {other}, {kNew}), EndsWith(": it has a key that neither of them has"));
  CHECK_THAT(said({kOld, other}, {other}, {kNew, other}), EndsWith(R"(: "k" is missing)"));
}

TEST_CASE("update_judge: one change is an update and nothing is torn") {
  Judged judged(set_of({kOld}));
  judged.judge.add(in_place(set_of({kNew})), {});
  judged.judge.finish(set_of({kNew}));
  CHECK(judged.findings.empty());
  CHECK(judged.judge.updates() == 1);
}

TEST_CASE("update_judge: each publication by the program is an update of its own") {
  Judged judged(set_of({kOld}));
  judged.judge.add(published(set_of({kMixed})), {});
  judged.judge.add(published(set_of({kNew})), {});
  judged.judge.finish(set_of({kNew}));
  CHECK(judged.findings.empty());
  CHECK(judged.judge.updates() == 2);
}

TEST_CASE(
    "update_judge: a function that publishes and then changes what it published is doubtful") {
  Judged judged(set_of({}));
  const std::vector<std::string> chain{"#1 main", "#2 set_label"};
  judged.judge.add(published(set_of({kOld}), chain), {});
  judged.judge.add(in_place(set_of({kNew}), chain), {});
  judged.judge.finish(set_of({kNew}));
  CHECK(judged.findings.empty());
  CHECK(judged.judge.updates() == 2);
  CHECK(judged.judge.doubtful() == std::set<std::string>{"set_label"});
}

TEST_CASE("update_judge: what two functions do, or one after a sleep, is not doubtful") {
  Judged judged(set_of({}));
  Interval sleep;
  sleep.waited = true;
  judged.judge.add(published(set_of({kOld}), {"#1 main", "#2 begin"}), {});
  judged.judge.add(in_place(set_of({kNew}), {"#1 main", "#3 change"}), {});
  judged.judge.add(published(set_of({kOld}), {"#1 main", "#4 both"}), {});
  judged.judge.add(in_place(set_of({kNew}), {"#1 main", "#4 both"}), sleep);
  judged.judge.finish(set_of({kNew}));
  CHECK(judged.judge.doubtful().empty());
}

TEST_CASE("update_judge: publications within a declared update are one") {
  Judged judged(set_of({kOld}));
  for (const Label& label : {kMixed, kNew}) {
    Change change = published(set_of({label}));
    change.region = 9;
    judged.judge.add(change, {});
  }
  judged.judge.finish(set_of({kNew}));
  CHECK(judged.findings.size() == 1);
}

TEST_CASE("update_judge: two declared updates are two, and so is what comes outside of them") {
  for (const std::uint64_t second : {10, 0}) {
    Judged judged(set_of({kOld}));
    judged.judge.add(declared(set_of({kMixed}), 9), {});
    judged.judge.add(declared(set_of({kNew}), second), {});
    judged.judge.finish(set_of({kNew}));
    CHECK(judged.findings.empty());
    CHECK(judged.judge.updates() == 2);
  }
}

TEST_CASE("update_judge: labels one by one are torn in a declared update and in a publisher's") {
  const Label a{"a", "1"};
  const Label b{"b", "2"};
  for (const bool in_publisher : {false, true}) {
    Judged judged(set_of({}));
    for (const LabelSet& labels : {LabelSet{a}, LabelSet{a, b}}) {
      Change change = in_place(set_of(labels));
      (in_publisher ? change.publisher_call : change.region) = 9;
      judged.judge.add(change, {});
    }
    judged.judge.finish(set_of({a, b}));
    CHECK(judged.findings.size() == 1);
  }
}

TEST_CASE("update_judge: the set of before, stored once more within an update, is not torn") {
  Judged judged(set_of({kOld}));
  judged.judge.add(declared(set_of({kOld}), 9), {});
  judged.judge.add(declared(set_of({kNew}), 9), {});
  judged.judge.finish(set_of({kNew}));
  CHECK(judged.findings.empty());
}

TEST_CASE("update_judge: a call into a publisher is one update, unless it calls back") {
  for (const std::uint64_t callback : {0, 1}) {
    Judged judged(set_of({}));
    Change first = published(set_of({kOld}));
    first.publisher_call = 3;
    Change second = published(set_of({}));
    second.publisher_call = 3;
    Interval between;
    between.program_steps = callback;
    judged.judge.add(first, {});
    judged.judge.add(second, between);
    judged.judge.finish(set_of({}));
    CHECK(judged.findings.size() == (callback == 0 ? 1 : 0));
  }
}

TEST_CASE("update_judge: two calls into a publisher are two updates") {
  Judged judged(set_of({}));
  for (const std::uint64_t call : {3, 4}) {
    Change change = published(set_of({call == 3 ? kOld : kNew}));
    change.publisher_call = call;
    judged.judge.add(change, {});
  }
  judged.judge.finish(set_of({kNew}));
  CHECK(judged.findings.empty());
  CHECK(judged.judge.updates() == 2);
}

TEST_CASE(
    "update_judge: an unreadable state is reported by its rule alone, with the sets around it") {
  Judged judged(set_of({kOld}));
  judged.judge.add(in_place(unreadable()), {});
  judged.judge.add(in_place(set_of({kNew})), {});
  judged.judge.finish(set_of({kNew}));
  REQUIRE(judged.findings.size() == 1);
  CHECK(judged.findings[0].rule == abi_v1::kStorageReadable);
  CHECK(judged.findings[0].before.labels == LabelSet{kOld});
  CHECK(judged.findings[0].after.labels == LabelSet{kNew});
}

TEST_CASE("update_judge: beside a set that cannot be read there is nothing to be torn") {
  for (const bool at_first : {true, false}) {
    Judged judged(at_first ? unreadable() : set_of({kOld}));
    judged.findings.clear();
    const SetCheck last = at_first ? set_of({kNew}) : unreadable();
    judged.judge.add(declared(set_of({kMixed}), 9), {});
    judged.judge.add(declared(last, 9), {});
    judged.judge.finish(last);
    CHECK(judged.findings.size() == (at_first ? 0 : 1));
    for (const UpdateFinding& finding : judged.findings) {
      CHECK(finding.rule == abi_v1::kStorageReadable);
    }
  }
}

TEST_CASE("update_judge: a note hides no torn state") {
  Judged judged(set_of({kOld}));
  judged.judge.add(in_place(breaking(set_of({kMixed}), abi_v1::kKeysUnique)), {});
  judged.judge.add(in_place(set_of({kNew})), {});
  judged.judge.finish(set_of({kNew}));
  REQUIRE(judged.findings.size() == 1);
  CHECK(judged.findings[0].rule == abi_v1::kTornUpdate);
}

TEST_CASE("update_judge: what was there before anything changed is reported without a change") {
  Judged judged(breaking(set_of({kOld}), abi_v1::kValueNotNull));
  REQUIRE(judged.findings.size() == 1);
  CHECK(judged.findings[0].change == nullptr);
  judged.judge.found(breaking(set_of({kNew}), abi_v1::kKeysUnique));
  REQUIRE(judged.findings.size() == 2);
  CHECK(judged.findings[1].rule == abi_v1::kKeysUnique);
  CHECK(judged.findings[1].change == nullptr);
}

TEST_CASE("update_judge: an update begins with what the one before left, or with what was found") {
  enum class Left { kByUpdate, kByFinish, kFound };
  for (const Left left : {Left::kByUpdate, Left::kByFinish, Left::kFound}) {
    const Label between{"k", "between"};
    Judged judged(set_of({kOld}));
    if (left == Left::kFound) {
      judged.judge.found(set_of({between}));
    } else {
      // After a finished update the last look counts, not the last change.
      const bool by_update = left == Left::kByUpdate;
      judged.judge.add(published(set_of({by_update ? between : kOld})), {});
      if (!by_update) judged.judge.finish(set_of({between}));
    }
    judged.judge.add(declared(set_of({kMixed}), 9), {});
    judged.judge.add(declared(set_of({kNew}), 9), {});
    judged.judge.finish(set_of({kNew}));
    REQUIRE(judged.findings.size() == 1);
    CHECK(judged.findings[0].before.labels == LabelSet{between});
  }
}

TEST_CASE("update_judge: a rule that was broken before hides no torn state, one that is new does") {
  for (const bool before : {true, false}) {
    const SetCheck old = set_of({kOld});
    const SetCheck mixed = breaking(set_of({kMixed}), abi_v1::kValueNotNull);
    const SetCheck last = breaking(set_of({kNew}), abi_v1::kValueNotNull);
    Judged judged(before ? breaking(old, abi_v1::kValueNotNull) : old);
    judged.findings.clear();
    judged.judge.add(in_place(mixed), {});
    judged.judge.add(in_place(last), {});
    judged.judge.finish(last);
    REQUIRE(judged.findings.size() == 1);
    CHECK(judged.findings[0].rule == (before ? abi_v1::kTornUpdate : abi_v1::kValueNotNull));
  }
}

TEST_CASE("update_judge: labels that are added one by one in place are no mixture") {
  const Label a{"a", "1"};
  const Label b{"b", "2"};
  Judged judged(set_of({}));
  judged.judge.add(in_place(set_of({a})), {});
  judged.judge.add(in_place(set_of({a, b})), {});
  judged.judge.finish(set_of({a, b}));
  CHECK(judged.findings.empty());
}

TEST_CASE("update_judge: a key that goes missing for a moment is torn") {
  Judged judged(set_of({kOld}));
  judged.judge.add(in_place(set_of({})), {});
  judged.judge.add(in_place(set_of({kNew})), {});
  judged.judge.finish(set_of({kNew}));
  CHECK(judged.findings.size() == 1);
}

TEST_CASE("update_judge: a state that lasts was meant") {
  Judged judged(set_of({kOld}));
  Interval between;
  between.steps = kStableSteps + 1;
  judged.judge.add(in_place(set_of({kMixed})), {});
  judged.judge.add(in_place(set_of({kNew})), between);
  judged.judge.finish(set_of({kNew}));
  CHECK(judged.findings.empty());
}

TEST_CASE("update_judge: a state in which the thread slept was meant, but for declared updates") {
  for (const std::uint64_t region : {0, 9}) {
    Judged judged(set_of({kOld}));
    Interval between;
    between.waited = true;
    for (const Label& label : {kMixed, kNew}) {
      Change change = in_place(set_of({label}));
      change.region = region;
      judged.judge.add(change, between);
    }
    judged.judge.finish(set_of({kNew}));
    CHECK(judged.findings.size() == (region == 0 ? 0 : 1));
  }
}

TEST_CASE("update_judge: what comes after a free run, or after long calls, is another update") {
  for (const bool ran_free : {true, false}) {
    Judged judged(set_of({kOld}));
    Interval between;
    between.ran_free = ran_free;
    between.callee_steps = ran_free ? 0 : kCalleeSteps + 1;
    judged.judge.add(in_place(set_of({kMixed})), {});
    judged.judge.add(in_place(set_of({kNew})), between);
    judged.judge.finish(set_of({kNew}));
    CHECK(judged.findings.empty());
    CHECK(judged.judge.updates() == 2);
  }
}

TEST_CASE("update_judge: changes whose function is not known are no single update") {
  Judged judged(set_of({kOld}));
  judged.judge.add(in_place(set_of({kMixed}), {}), {});
  judged.judge.add(in_place(set_of({kNew}), {}), {});
  judged.judge.finish(set_of({kNew}));
  CHECK(judged.judge.updates() == 2);
}

TEST_CASE("update_judge: changes of two functions that one calls are two updates") {
  Judged judged(set_of({kOld}));
  judged.judge.add(in_place(set_of({kMixed}), {"#1", "#2"}), {});
  judged.judge.add(in_place(set_of({kNew}), {"#1", "#3"}), {});
  judged.judge.finish(set_of({kNew}));
  CHECK(judged.findings.empty());
}

TEST_CASE("update_judge: the next turn of a loop around an inlined function is another update") {
  for (const bool around : {false, true}) {
    const std::vector<std::string> inlined{"#1", "set@7"};
    Judged judged(set_of({kOld}));
    Interval between;
    between.jumps_back.push_back(around ? std::vector<std::string>{"#1"} : inlined);
    judged.judge.add(in_place(set_of({kMixed}), inlined), {});
    judged.judge.add(in_place(set_of({kNew}), inlined), between);
    judged.judge.finish(set_of({kNew}));
    CHECK(judged.findings.size() == (around ? 0 : 1));
  }
}

TEST_CASE("update_judge: a loop of a signal handler in between parts no update") {
  Judged judged(set_of({kOld}));
  Interval between;
  between.jumps_back.push_back({"#9 handler"});
  judged.judge.add(in_place(set_of({kMixed}), {"#1 set"}), {});
  judged.judge.add(in_place(set_of({kNew}), {"#1 set"}), between);
  judged.judge.finish(set_of({kNew}));
  CHECK(judged.findings.size() == 1);
}

TEST_CASE("update_judge: what free() does to a set before the next is published is torn") {
  Judged judged(set_of({kOld}));
  Change freed = in_place(set_of({kMixed}));
  freed.by_runtime = true;
  judged.judge.add(freed, {});
  judged.judge.add(published(set_of({kNew})), {});
  judged.judge.finish(set_of({kNew}));
  CHECK(judged.findings.size() == 1);
}

TEST_CASE("update_judge: notes are about sets that stay") {
  Judged judged(set_of({kOld}));
  const SetCheck duplicate = breaking(set_of({kNew}), abi_v1::kKeysUnique);
  judged.judge.add(in_place(duplicate), {});
  judged.judge.finish(set_of({kNew}));
  CHECK(judged.findings.empty());
  judged.judge.add(in_place(duplicate), {});
  judged.judge.finish(duplicate);
  REQUIRE(judged.findings.size() == 1);
  CHECK(judged.findings[0].rule == abi_v1::kKeysUnique);
}
