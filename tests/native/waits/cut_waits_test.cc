// wait_window.bpf.h: a wait that is open at a cut is divided there, whenever its thread comes back,
// and whenever user space looks.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bpf/sampling/wait_cut.h"
#include "native/waits/machine.h"
#include "sampling/sample_kind.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

constexpr std::uint64_t kUs = 1000;
constexpr long kRead = 0;
constexpr unsigned kCpu = 0;
constexpr unsigned kOther = 1;

using Machine = labelscope::test::Machine;  // not that of ELF files
using Wait = Machine::Wait;
using Sum = Machine::Sum;

// A process of one thread, labelled "acme", that has waited for 10 us when the cut comes.
struct Waiting {
  explicit Waiting(bool blames = false) : machine(blames), thread(machine.process(100)) {
    machine.label(thread, "acme");
    Machine::call(thread, kRead);
    machine.change(kCpu, &thread);
    machine.pass(8 * kUs);
    machine.change(kCpu, nullptr);
    left = machine.now();
    machine.pass(10 * kUs);
  }
  void come_back() {
    machine.wake(thread, kOther);
    machine.change(kCpu, &thread);
  }
  std::vector<ThreadAtCut> at(const WaitCut& cut) {
    return threads_at(cut, machine.entries(), machine.entries());
  }
  Machine machine;
  FakeThread& thread;
  std::uint64_t left = 0;
};

void check_open(const std::vector<ThreadAtCut>& threads, const WaitCut& cut, std::uint64_t left) {
  REQUIRE(threads.size() == 1);
  REQUIRE(threads[0].open);
  CHECK(threads[0].open->left_ns == left);
  CHECK(threads[0].open->labels >= LS_FIRST_LABEL_NUMBER);
  CHECK(threads[0].open->system_call == kRead);
  CHECK(parts_of(*threads[0].open, cut.began_ns, cut.cut_ns) ==
        WaitParts{cut.cut_ns - left, 0, 0});
}

}  // namespace

TEST_CASE("cut_waits: the rest of a wait is of the window in which it ends, with its whole length") {
  Waiting of;
  const WaitCut cut = of.machine.cut();
  of.machine.pass(7 * kUs);
  of.come_back();
  check_open(of.at(cut), cut, of.left);
  CHECK(of.machine.take_waits().empty());
  CHECK(of.machine.waits()[{100, "acme", kRead, LS_PART_WAITING}] == Sum{7 * kUs, 1});
  const auto totals = entries_of<ls_wait_key, ls_wait_total>("wait_totals");
  REQUIRE(totals.size() == 1);
  REQUIRE(ls_wait_bucket(17 * kUs) != ls_wait_bucket(7 * kUs));
  CHECK(totals[0].second.log2[ls_wait_bucket(17 * kUs)] == 1);
  const ls_wait_account account = of.machine.known(of.thread).account;
  CHECK(account.in[cut.slot].waits == 0);
  CHECK(account.in[cut.slot ^ 1].waits == 1);
  CHECK(account.in[cut.slot ^ 1].ns[LS_PART_WAITING] == 7 * kUs);
}

TEST_CASE("cut_waits: a wait over several windows has a part of each") {
  Waiting of;
  std::uint64_t sum = 0;
  for (int i = 0; i < 3; ++i) {
    const WaitCut cut = of.machine.cut();
    of.machine.pass(40 * kUs);
    const auto threads = of.at(cut);
    REQUIRE(threads.size() == 1);
    REQUIRE(threads[0].open);
    sum += parts_of(*threads[0].open, cut.began_ns, cut.cut_ns)[LS_PART_WAITING];
  }
  of.machine.pass(100 * kUs);
  of.come_back();
  sum += of.machine.waited("acme");
  CHECK(sum == of.machine.now() - of.left);
}

TEST_CASE("cut_waits: a wake-up on either side of the cut ends the first part") {
  for (const bool before : {true, false}) {
    Waiting of;
    if (before) of.machine.wake(of.thread, kOther);
    of.machine.pass(2 * kUs);
    const WaitCut cut = of.machine.cut();
    of.machine.pass(3 * kUs);
    if (!before) of.machine.wake(of.thread, kOther);
    of.machine.pass(5 * kUs);
    of.machine.change(kCpu, &of.thread);
    const auto threads = of.at(cut);
    REQUIRE(threads.size() == 1);
    REQUIRE(threads[0].open);
    const std::uint64_t open = cut.cut_ns - of.left;
    const WaitParts expected =
        before ? WaitParts{10 * kUs, 0, open - 10 * kUs} : WaitParts{open, 0, 0};
    CHECK(parts_of(*threads[0].open, cut.began_ns, cut.cut_ns) == expected);
    CHECK(of.machine.waited("acme", LS_PART_WAITING) == (before ? 0 : 3 * kUs));
    CHECK(of.machine.waited("acme", LS_PART_RUNNABLE) == (before ? 8 : 5) * kUs);
    // Each part counts once, where it ends.
    CHECK(of.machine.waits()[{100, "acme", kRead, LS_PART_WAITING}].count == 1);
  }
}

TEST_CASE("cut_waits: whenever user space reads while the thread comes back, it finds one part") {
  // The thread comes back between the two looks, or while one of them reads.
  for (const bool first_in_the_middle : {true, false}) {
    for (unsigned when = 0;; ++when) {
      Waiting of;
      const WaitCut cut = of.machine.cut();
      of.machine.pass(30 * kUs);
      WaitingEntries first = of.machine.entries();
      WaitingEntries second;
      unsigned atomics = 0;
      bool is_read = false;
      fake_interruption = [&] {
        if (atomics++ != when) return;
        is_read = true;
        (first_in_the_middle ? first : second) = of.machine.entries();
      };
      of.come_back();
      fake_interruption = nullptr;
      if (first_in_the_middle || !is_read) second = of.machine.entries();
      check_open(threads_at(cut, first, second), cut, of.left);
      CHECK(of.machine.waited("acme") == 30 * kUs);
      if (!is_read) {
        REQUIRE(when > 2);
        break;
      }
    }
  }
}

TEST_CASE("cut_waits: a thread that leaves again at once is found in the wait that the cut divided") {
  Waiting of;
  const WaitCut cut = of.machine.cut();
  of.machine.pass(30 * kUs);
  const WaitingEntries first = of.machine.entries();
  of.come_back();
  of.machine.label(of.thread, "globex");
  of.machine.pass(kUs);
  of.machine.change(kCpu, nullptr);
  const WaitingEntries second = of.machine.entries();
  check_open(threads_at(cut, first, second), cut, of.left);
  check_open(threads_at(cut, second, second), cut, of.left);
}

TEST_CASE("cut_waits: a wait that ended before the switch saw the cut is whole in its window") {
  Waiting of;
  of.come_back();
  of.machine.pass(kUs);
  const WaitCut cut = of.machine.cut();
  const auto threads = of.at(cut);
  REQUIRE(threads.size() == 1);
  CHECK_FALSE(threads[0].open);
  CHECK(threads[0].account.in[cut.slot].ns[LS_PART_WAITING] == 10 * kUs);
  CHECK(of.machine.take_waits()[{100, "acme", kRead, LS_PART_WAITING}] == Sum{10 * kUs, 1});
}

TEST_CASE("cut_waits: a thread that ends behind the cut takes along what was open") {
  Waiting of;
  const WaitCut cut = of.machine.cut();
  const WaitingEntries first = of.machine.entries();
  of.machine.pass(30 * kUs);
  of.come_back();
  of.machine.exit(kCpu);
  of.machine.change(kCpu, nullptr, Leaving::kDead);
  CHECK(threads_at(cut, first, of.machine.entries()).empty());
  const auto records = of.machine.ended();
  REQUIRE(records.size() == 1);
  check_open({thread_at(cut, records[0])}, cut, of.left);
}

TEST_CASE("cut_waits: waits whose labels are missing at the cut are handed out with it, once") {
  Waiting of;
  of.come_back();
  of.thread.in_memory = false;
  of.thread.in_kernel = true;  // it does not come back to user mode yet
  of.machine.change(kCpu, nullptr);
  of.machine.pass(20 * kUs);
  of.come_back();
  const WaitCut cut = of.machine.cut();
  of.machine.change(kCpu, nullptr);
  of.machine.pass(40 * kUs);
  of.come_back();
  auto threads = of.at(cut);
  REQUIRE(threads.size() == 1);
  CHECK(threads[0].late.ns[LS_PART_WAITING] == 20 * kUs);
  CHECK(threads[0].late.labels == 0);
  CHECK(threads[0].account.in[cut.slot].ns[LS_PART_WAITING] == 30 * kUs);
  // Its labels come before user space has looked: they are known then.
  of.machine.return_to_user(kCpu);
  threads = of.at(cut);
  CHECK(threads[0].late.ns[LS_PART_WAITING] == 20 * kUs);
  CHECK(of.machine.name_of(threads[0].late.labels) == "acme");
  CHECK(of.machine.take_waits()[{100, "acme", kRead, LS_PART_WAITING}] == Sum{10 * kUs, 1});
  CHECK(of.machine.waits()[{100, "acme", kRead, LS_PART_WAITING}] == Sum{40 * kUs, 1});
  // And never again.
  const WaitCut next = of.machine.cut();
  CHECK(of.at(next)[0].late.count[LS_PART_WAITING] == 0);
  const WaitCut third = of.machine.cut();
  CHECK(of.at(third)[0].late.count[LS_PART_WAITING] == 0);
}

TEST_CASE("cut_waits: an open wait has the labels that its thread has read since") {
  Waiting of;
  of.come_back();
  of.thread.in_memory = false;
  of.machine.change(kCpu, nullptr);
  of.machine.pass(20 * kUs);
  const WaitCut cut = of.machine.cut();
  CHECK(of.at(cut)[0].open.value().labels == LS_LABELS_LATER);
  of.machine.pass(5 * kUs);
  of.come_back();
  CHECK(of.machine.name_of(of.at(cut)[0].open.value().labels) == "acme");
  CHECK(of.machine.waits({})[{100, "acme", kRead, LS_PART_WAITING}] == Sum{15 * kUs, 2});
}

TEST_CASE("cut_waits: blame is known of what of a wait is in its last window") {
  Waiting of(true);
  FakeThread& other = of.machine.process(200);
  of.machine.label(other, "globex");
  of.machine.change(kOther, &other);
  of.machine.cut();
  of.machine.pass(30 * kUs);
  of.come_back();
  CHECK(of.machine.blamed("acme", "thread 200 globex") == 30 * kUs);
}

TEST_CASE("cut_waits: a thread that was not seen to come back is divided, too") {
  Waiting of;
  const WaitCut cut = of.machine.cut();
  of.machine.pass(30 * kUs);
  // It gets its processor while the kernel hides it, runs, and leaves the processor again.
  of.machine.attach(0);
  of.come_back();
  of.machine.pass(7 * kUs);
  of.machine.attach(~std::size_t{0});
  of.machine.change(kCpu, nullptr);
  CHECK(of.machine.counted(LS_COUNT_SWITCHES_NOT_SEEN) == 1);
  check_open(of.at(cut), cut, of.left);
  CHECK(of.machine.waited("acme") == 30 * kUs);
}
