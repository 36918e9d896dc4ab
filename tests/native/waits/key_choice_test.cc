// Label sets are numbered by the labels that are wanted: totals by those that some output has, and
// blame by its keys once there are too many pairs.
#include <cstdint>
#include <string>
#include <utility>

#include "native/waits/machine.h"
#include "support/catch.h"

using namespace labelscope::test;

namespace {

constexpr std::uint64_t kUs = 1000;
constexpr unsigned kCpu = 0;
constexpr unsigned kOther = 1;
const std::string kRequest = "request";  // another one for each wait
const std::string kLongKey = "a.key.of.more.than.two.words";

struct Two {
  Two() : victim(machine.process(100)), hog(machine.thread(100, 101)) {
    machine.change(kCpu, &victim);
    machine.change(kOther, &hog);
    set_labels("hog", hog);
    machine.pass(kUs);
  }
  // The request comes first in one set and last in the next.
  void set_labels(const std::string& tenant, FakeThread& thread) {
    const std::string request = std::to_string(++requests);
    Labels labels{{"tenant", tenant}, {kRequest, request}};
    if (requests % 2 == 0) std::swap(labels[0], labels[1]);
    if (requests % 3 == 0) labels.emplace_back("other", std::string(3 + requests % 5, 'x'));
    machine.label(thread, std::move(labels));
  }
  void wait(const std::string& tenant, std::uint64_t us) {
    set_labels(tenant, victim);
    set_labels("hog", hog);
    machine.change(kCpu, nullptr);
    machine.pass(us * kUs);
    machine.wake(victim, kOther);
    machine.change(kCpu, &victim);
    machine.pass(kUs);
  }
  // Some request, as "tenant" is the first label of every second set only.
  std::uint64_t of_totals(std::size_t count) {
    return sum_of<ls_wait_key, ls_wait_total>("wait_totals", count);
  }
  std::uint64_t of_blame(std::size_t count) {
    return sum_of<ls_blame_key, ls_blame_total>("blame_totals", count);
  }
  template <class Key, class Total>
  static std::uint64_t sum_of(const char* map, std::size_t count) {
    std::uint64_t ns = 0;
    const auto all = entries_of<Key, Total>(map);
    CHECK(all.size() == count);
    for (const auto& [key, total] : all) ns += total.ns;
    return ns;
  }
  Machine machine;
  FakeThread& victim;
  FakeThread& hog;
  unsigned requests = 0;
};

}  // namespace

TEST_CASE("key choice: what no output has divides no total") {
  Two of;
  SECTION("keys that are left out") {
    Machine::choose(LS_CHOICE_OF_WAITS, LS_KEYS_BUT, {kRequest, "other", "absent"});
  }
  SECTION("all but the kept ones") {
    Machine::choose(LS_CHOICE_OF_WAITS, LS_KEYS_ONLY, {"absent", "tenant"});
  }
  for (int i = 0; i < 30; ++i) of.wait(i % 3 == 0 ? "acme" : "globex", 10);
  CHECK(of.of_totals(2) == 300 * kUs);
  CHECK(of.of_blame(2) == 300 * kUs);
  CHECK(of.machine.sent<ls_label_set_head>(LS_RECORD_LABEL_SET).size() == 3);
}

TEST_CASE("key choice: blame by its keys has few pairs, and totals have all labels") {
  Two of;
  for (int i = 0; i < 10; ++i) of.wait("acme", 10);
  CHECK(of.of_blame(10) == 100 * kUs);
  Machine::choose(LS_CHOICE_OF_BLAME, LS_KEYS_ONLY, {"tenant"});
  for (int i = 0; i < 20; ++i) of.wait(i % 2 == 0 ? "acme" : "globex", 10);
  CHECK(of.of_totals(30) == 300 * kUs);
  CHECK(of.of_blame(12) == 300 * kUs);
  std::size_t of_choice = 0;
  const auto sent = of.machine.sent<ls_label_set_head>(LS_RECORD_LABEL_SET);
  for (const ls_label_set_head& head : sent) of_choice += head.choice == LS_CHOICE_OF_BLAME;
  CHECK(of_choice == 3);  // acme, globex and hog
}

TEST_CASE("key choice: labels that stay are numbered anew by another choice") {
  Two of;
  of.machine.label(of.victim, {{"tenant", "acme"}, {kRequest, "1"}});
  const auto wait = [&] {
    of.machine.change(kCpu, nullptr);
    of.machine.pass(10 * kUs);
    of.machine.wake(of.victim, kOther);
    of.machine.change(kCpu, &of.victim);
    of.machine.pass(kUs);
  };
  wait();
  wait();  // with what the thread remembers
  Machine::choose(LS_CHOICE_OF_BLAME, LS_KEYS_ONLY, {"tenant"});
  wait();
  wait();
  const auto blame = entries_of<ls_blame_key, ls_blame_total>("blame_totals");
  REQUIRE(blame.size() == 2);
  for (const auto& [key, total] : blame) CHECK(total.count <= 2);
  CHECK(of.of_totals(1) == 40 * kUs);
}

TEST_CASE("key choice: labels without any chosen one are a set of their own") {
  Two of;
  Machine::choose(LS_CHOICE_OF_BLAME, LS_KEYS_ONLY, {"tenant"});
  of.machine.label(of.victim, {{kRequest, "1"}});
  of.machine.change(kCpu, nullptr);
  of.machine.pass(10 * kUs);
  of.machine.wake(of.victim, kOther);
  of.machine.change(kCpu, &of.victim);
  of.machine.pass(kUs);
  of.wait("acme", 20);
  CHECK(of.of_blame(2) == 30 * kUs);
}

TEST_CASE("key choice: keys are compared to their last byte") {
  Two of;
  for (const std::string& near : {kLongKey.substr(0, 16), kLongKey + "s", kLongKey.substr(1),
                                  "b" + kLongKey.substr(1), std::string()}) {
    Machine::choose(LS_CHOICE_OF_BLAME, LS_KEYS_ONLY, {kLongKey});
    of.machine.label(of.hog, {{kLongKey, "hog"}});
    const std::size_t before = count_elements("blame_totals");
    const auto wait = [&](const std::string& key, const std::string& value) {
      of.machine.label(of.victim, {{key, value}});
      of.machine.change(kCpu, nullptr);
      of.machine.pass(10 * kUs);
      of.machine.wake(of.victim, kOther);
      of.machine.change(kCpu, &of.victim);
      of.machine.pass(kUs);
    };
    wait(near, "1");
    wait(near, "2");
    wait(kLongKey, "3" + near);
    CHECK(count_elements("blame_totals") <= before + 2);
    CHECK(count_elements("blame_totals") > before);
  }
  CHECK(count_elements("blame_totals") == 6);  // five values, and the set without one
}

TEST_CASE("key choice: a set of blame for which the ring has no room is sent the next time") {
  Two of;
  Machine::choose(LS_CHOICE_OF_BLAME, LS_KEYS_ONLY, {"tenant"});
  fake_ring_is_full = true;
  of.wait("acme", 10);
  CHECK(of.machine.counted(LS_COUNT_DROPPED_LABEL_SETS) >= 2);
  fake_ring_is_full = false;
  of.wait("acme", 10);
  std::size_t of_choice = 0;
  const auto sent = of.machine.sent<ls_label_set_head>(LS_RECORD_LABEL_SET);
  for (const ls_label_set_head& head : sent) of_choice += head.choice == LS_CHOICE_OF_BLAME;
  CHECK(of_choice == 2);
}

TEST_CASE("key choice: those that had the processor have few labels, too") {
  Two of;
  FakeThread& other = of.machine.thread(100, 102);
  Machine::choose(LS_CHOICE_OF_BLAME, LS_KEYS_ONLY, {"tenant"});
  for (int i = 0; i < 10; ++i) {
    of.set_labels("acme", of.victim);
    of.machine.change(kCpu, &other, Leaving::kPreempted);
    of.machine.pass(10 * kUs);
    of.set_labels(i % 2 == 0 ? "globex" : "initech", other);
    of.machine.change(kCpu, &of.victim);
    of.machine.pass(kUs);
  }
  CHECK(of.of_blame(2) == 100 * kUs);
}
