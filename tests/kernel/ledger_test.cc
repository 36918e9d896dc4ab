// The numbers must add up, under load, and when the ring buffer is too small for it.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

void burn_labelled(ChildSide& parent) {
  std::vector<custom_labels_label_t> slots;
  slots.reserve(10);
  for (int i = 0; i < 10; ++i) slots.push_back(label("key" + std::to_string(i), "value"));
  publish_labels(slots);
  parent.say(1);
  parent.burn_until_told();
}

// Publishes labels on a page that is missing at every other sample.
void burn_absent(ChildSide& parent) {
  int file = memfd_create("labels", 0);
  if (ftruncate(file, 4096) != 0) _exit(1);
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file, 0);
  std::vector<custom_labels_label_t> slots = {label("a", "1")};
  slots[0].value = {4, static_cast<const unsigned char*>(page)};
  publish_labels(slots);
  parent.say(1);
  burn([&] {
    madvise(page, 4096, MADV_DONTNEED);
    return parent.told();
  });
}

}  // namespace

TEST_CASE("sampler: at 4999 Hz on two busy CPUs every sample is accounted for") {
  SampledChild first(burn_labelled);
  SampledChild second(burn_absent);
  auto sampler = open_sampler({.frequency_hz = 4999});
  REQUIRE(sampler->set_process(first.pid(), {&first.recipe(), 1}));
  REQUIRE(sampler->set_process(second.pid(), {&second.recipe(), 1}));
  REQUIRE(sampler->start());
  Taken taken;
  // The shares of the two depend on other users of the processors.
  drain_until(*sampler, taken, [&] {
    return taken.samples.size() >= 15000 && taken.of_outcome(LS_LABELLED) > 5000;
  });
  stop_and_balance(*sampler, taken);
}

TEST_CASE("sampler: a ring buffer that is too small loses samples, and says how many") {
  SampledChild first(burn_labelled);
  SampledChild second(burn_absent);
  first.hear();
  second.hear();
  auto sampler = open_sampler({.frequency_hz = 4999, .ring_bytes = 4096});
  REQUIRE(sampler->set_process(first.pid(), {&first.recipe(), 1}));
  REQUIRE(sampler->set_process(second.pid(), {&second.recipe(), 1}));
  REQUIRE(sampler->start());
  Taken taken;
  // Does not drain until some samples are lost, again and again.
  for (std::uint64_t lost = 100; lost <= 1000; lost += 100) {
    wait_for([&] { return sampler->counters().dropped >= lost; });
    REQUIRE(sampler->drain(taken, std::chrono::milliseconds(0)));
  }
  Counters counters = stop_and_balance(*sampler, taken);
  REQUIRE(counters.dropped >= 1000);
  REQUIRE_FALSE(taken.samples.empty());
  // Both have labels at every moment, so dropped samples have them, too.
  CHECK(counters.outcomes[LS_UNLABELLED] == 0);
  CHECK(counters.outcomes[LS_LABELLED] > 0);
  // The retry was scheduled before the ring turned out to be full.
  if (sampler->retries()) CHECK(counters.others[Counter::kRetriesOfDroppedSamples] > 0);
}

TEST_CASE("sampler: a full ring buffer does not hide which processes there are") {
  SampledChild child([](ChildSide& parent) {
    burn([&] { return parent.told(); });
    parent.take();
    pid_t stays = fork();
    if (stays == 0) {
      burn([&] { return parent.told(); });
      _exit(0);
    }
    // There are more events than there is room for.
    for (int i = 0; i < 200; ++i) {
      pid_t pid = fork();
      if (pid == 0) {
        if (i == 0) execl("/bin/true", "true", static_cast<char*>(nullptr));
        _exit(1);
      }
      waitpid(pid, nullptr, 0);
    }
    parent.say(static_cast<std::uint64_t>(stays));
    _exit(0);
  });
  auto sampler = open_sampler({.frequency_hz = 4999, .ring_bytes = 4096});
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  wait_for([&] { return sampler->counters().dropped >= 50; });
  child.tell();
  Pid grandchild{static_cast<std::int32_t>(child.hear())};
  child.wait();
  Taken taken;
  drain_until(*sampler, taken, [&] {
    return std::find(taken.exits.begin(), taken.exits.end(), child.pid()) != taken.exits.end();
  });
  std::set<int> alive = {raw(child.pid())};
  for (const auto& [parent, forked] : taken.forks) {
    REQUIRE(parent == child.pid());
    alive.insert(raw(forked));
  }
  for (Pid pid : taken.exits) REQUIRE(alive.erase(raw(pid)) == 1);
  REQUIRE(alive == std::set<int>{raw(grandchild)});
  Counters counters = stop_and_balance(*sampler, taken);
  REQUIRE(counters.others[Counter::kDroppedForks] > 0);
  REQUIRE(counters.others[Counter::kDroppedExits] > 0);
  REQUIRE(counters.others[Counter::kProcessEventsRecovered] > 0);
}

TEST_CASE("sampler: a wait ends when the ring buffer is half full, not with each sample") {
  SampledChild child(burn_labelled);
  // The rates of events change, which ends a wait, too, after as many samples as fill the buffer
  // several times.
  auto sampler = open_sampler({.frequency_hz = 9999, .ring_bytes = 32 << 10});
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  Taken taken;
  std::size_t waits = 0;
  const auto begin = std::chrono::steady_clock::now();
  while (taken.samples.size() < 2000) {
    REQUIRE(sampler->drain(taken, std::chrono::seconds(60)));
    ++waits;
    REQUIRE(std::chrono::steady_clock::now() - begin < std::chrono::seconds(50));
  }
  CHECK(taken.samples.size() > 4 * waits);
  // On a busy machine it comes too late now and then. If waits ended by the change of rates alone,
  // three quarters would be lost.
  CHECK(sampler->counters().dropped * 4 < sampler->counters().taken);
  stop_and_balance(*sampler, taken);
}
