// Pages that are not in memory when a sample comes.
#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include "bpf/load/kernel.h"
#include "bpf/wire/wire.h"
#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "support/catch.h"
#include "support/rights.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

constexpr std::size_t kPage = 4096;

// Maps a file that holds `text`, privately, and touches nothing of it.
const unsigned char* untouched_file(const std::string& text) {
  int file = memfd_create("labels", 0);
  if (ftruncate(file, 16 * kPage) != 0) _exit(1);
  if (pwrite(file, text.data(), text.size(), 8 * kPage) < 0) _exit(1);
  void* base = mmap(nullptr, 16 * kPage, PROT_READ, MAP_PRIVATE, file, 0);
  if (base == MAP_FAILED) _exit(1);
  // There must be no fault-around, which would bring in the page with its neighbours.
  madvise(base, 16 * kPage, MADV_RANDOM);
  return static_cast<const unsigned char*>(base) + 8 * kPage;
}

// Publishes a label whose value is on a page that is removed again and again.
void burn_with_absent_value(ChildSide& parent) {
  std::vector<custom_labels_label_t> slots = {label("a", "1"), label("b", ""), label("c", "3")};
  const unsigned char* value = untouched_file("from the file");
  slots[1].value = {13, value};
  publish_labels(slots);
  parent.say(1);
  burn([&] {
    madvise(const_cast<unsigned char*>(value), kPage, MADV_DONTNEED);
    return parent.told();
  });
}

// Takes the numbers of all unused entries for repeated reads from the one sampler of this process.
void leave_no_scratch() {
  std::size_t taken = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(each.path().filename());
    bpf_map_info map{};
    std::uint32_t size = sizeof(map);
    std::error_code ignored;
    if (std::filesystem::read_symlink(each, ignored) != "anon_inode:bpf-map" ||
        bpf_obj_get_info_by_fd(fd, &map, &size) != 0 ||
        std::string_view(map.name) != "free_scratches") {
      continue;
    }
    std::uint32_t index = 0;
    while (bpf_map_lookup_and_delete_elem(fd, nullptr, &index) == 0) ++taken;
  }
  REQUIRE(taken == LS_RETRY_SCRATCHES);
}

const LabelSet kWhole = {{"a", "1", 0}, {"b", "from the file", 0}, {"c", "3", 0}};

void skip_without_retries(SamplerOptions options) {
  if (kernel_has({"bpf_task_work_schedule_resume_impl"}) != std::vector{true}) {
    skip_test("the kernel has no bpf_task_work_schedule_resume_impl (Linux 6.18)");
  }
  auto sampler = open_sampler(options);
  INFO(sampler->retry_problem());
  REQUIRE(sampler->retries());
  REQUIRE_FALSE(sampler->retries_refused());
}

}  // namespace

TEST_CASE("sampler: a page that is not in memory is brought in and read again") {
  skip_without_retries({});
  SampledChild child(burn_with_absent_value);
  child.hear();
  Taken taken;
  Counters counters = sample_until({.frequency_hz = 999}, child, taken,
                                   [&] { return taken.with_flag(LS_RETRIED) >= 50; });
  REQUIRE(counters.others[Counter::kRetriesSent] >= 50);
  for (const TakenSample& sample : taken.samples) {
    // A retry is refused while another one is under way, if two samples come between two
    // instructions.
    if (sample.seen.outcome == LS_UNREADABLE_NOT_RESIDENT) continue;
    REQUIRE(sample.seen.labels == kWhole);
    REQUIRE_FALSE(sample.user_stack.empty());
  }
  // Without retries no sample would be labelled. The slower the machine, the longer a retry is
  // under way.
  REQUIRE(taken.of_outcome(LS_LABELLED) > taken.samples.size() * 3 / 4);
}

TEST_CASE("sampler: a read for which there is no scratch is answered at once, as vanished") {
  skip_without_retries({});
  SampledChild child(burn_with_absent_value);
  child.hear();
  auto sampler = open_sampler({.frequency_hz = 999});
  leave_no_scratch();
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  Taken taken;
  // They do not wait for the end of the process or of the recording.
  drain_until(*sampler, taken, [&] { return taken.of_outcome(LS_UNREADABLE_VANISHED) >= 50; });
  CHECK(std::ranges::is_sorted(taken.samples, {}, &TakenSample::thread_ns));
  const Counters counters = stop_and_balance(*sampler, taken);
  CHECK(counters.others[Counter::kSamplesNotHeld] == 0);
  CHECK(counters.others[Counter::kRetriesWithoutScratch] >= 50);
  CHECK(counters.others[Counter::kRetriesSent] == counters.others[Counter::kRetriesWithoutScratch]);
}

TEST_CASE("sampler: without repeated reads a missing page is counted") {
  SampledChild child(burn_with_absent_value);
  child.hear();
  SamplerOptions options{.frequency_hz = 999, .retries = RetryMode::kOff};
  Taken taken;
  sample_until(options, child, taken,
               [&] { return taken.of_outcome(LS_UNREADABLE_NOT_RESIDENT) >= 50; });
  REQUIRE(taken.with_flag(LS_RETRIED) == 0);
  for (const TakenSample& sample : taken.samples) {
    REQUIRE(sample.seen.outcome == LS_UNREADABLE_NOT_RESIDENT);
    REQUIRE(sample.seen.labels.empty());
  }
}

TEST_CASE("sampler: many missing pages of one set are all brought in") {
  skip_without_retries({});
  SampledChild child([](ChildSide& parent) {
    std::vector<custom_labels_label_t> slots;
    std::vector<const unsigned char*> pages;
    for (int i = 0; i < 30; ++i) {
      slots.push_back(label("k" + std::to_string(i), ""));
      pages.push_back(untouched_file("value"));
      slots.back().value = {5, pages.back()};
    }
    publish_labels(slots);
    parent.say(1);
    burn([&] {
      for (const unsigned char* page : pages) {
        madvise(const_cast<unsigned char*>(page), kPage, MADV_DONTNEED);
      }
      return parent.told();
    });
  });
  child.hear();
  Taken taken;
  sample_until({.frequency_hz = 499}, child, taken,
               [&] { return taken.with_flag(LS_RETRIED) >= 10; });
  for (const TakenSample& sample : taken.samples) {
    if (sample.seen.outcome != LS_LABELLED) continue;
    REQUIRE(sample.seen.labels.size() == 30);
    REQUIRE(sample.seen.labels[29].value == "value");
  }
  REQUIRE(taken.of_outcome(LS_LABELLED) >= 10);
}

TEST_CASE("sampler: what is read again and has too many labels is counted as truncated") {
  skip_without_retries({});
  SampledChild child([](ChildSide& parent) {
    std::vector<custom_labels_label_t> slots;
    for (int i = 0; i < LS_MAX_LABELS + 1; ++i) slots.push_back(label(std::to_string(i), ""));
    const unsigned char* value = untouched_file("from the file");
    slots[1].value = {13, value};
    publish_labels(slots);
    parent.say(1);
    burn([&] {
      madvise(const_cast<unsigned char*>(value), kPage, MADV_DONTNEED);
      return parent.told();
    });
  });
  child.hear();
  Taken taken;
  const auto read_again = [&] {
    return std::count_if(taken.samples.begin(), taken.samples.end(), [](const TakenSample& one) {
      return (one.seen.flags & LS_RETRIED) != 0 && (one.seen.flags & LS_TRUNCATED) != 0;
    });
  };
  const Counters counters =
      sample_until({.frequency_hz = 999}, child, taken, [&] { return read_again() >= 20; });
  REQUIRE(counters.dropped == 0);
  CHECK(counters.truncated == taken.with_flag(LS_TRUNCATED));
}

TEST_CASE("sampler: what was sampled before an exec is not read again after it") {
  skip_without_retries({});
  // Each child executes a program with a page of labels missing, and with so many arguments that a
  // sample comes while the kernel copies them.
  SampledChild child([](ChildSide& parent) {
    std::vector<custom_labels_label_t> slots = {label("a", "")};
    const unsigned char* value = untouched_file("from the file");
    slots[0].value = {13, value};
    publish_labels(slots);
    const std::string long_argument(100'000, 'x');
    std::vector<char*> arguments(15, const_cast<char*>(long_argument.c_str()));
    arguments.push_back(nullptr);
    parent.wait_until_told();
    for (;;) {
      const pid_t pid = fork();
      if (pid == 0) {
        execv("/bin/true", arguments.data());
        _exit(1);
      }
      waitpid(pid, nullptr, 0);
    }
  });
  auto sampler = open_sampler({.frequency_hz = 4999});
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  child.tell();
  Taken taken;
  drain_until(*sampler, taken, [&] { return taken.of_outcome(LS_UNREADABLE_VANISHED) >= 10; });
  for (const TakenSample& sample : taken.samples) {
    if ((sample.seen.flags & LS_RETRIED) == 0) continue;
    CHECK(sample.seen.outcome != LS_UNREADABLE_NOT_RELOCATED);
  }
}

TEST_CASE("sampler: a page that never comes is not resident after the repeated read too") {
  skip_without_retries({});
  SampledChild child([](ChildSide& parent) {
    std::vector<custom_labels_label_t> slots = {label("a", "1")};
    slots[0].value.buf = reinterpret_cast<const unsigned char*>(0x1000);
    publish_labels(slots);
    parent.say(1);
    parent.burn_until_told();
  });
  child.hear();
  Taken taken;
  sample_some({}, child, taken);
  REQUIRE(taken.of_outcome(LS_UNREADABLE_NOT_RESIDENT) == taken.samples.size());
  REQUIRE(taken.with_flag(LS_RETRIED) > 0);
}

TEST_CASE("sampler: a page that another program must supply is not waited for") {
  skip_without_retries({});
  // The page must be filled through userfaultfd, which never happens: a read would hold the thread
  // until the process is killed.
  SampledChild child([](ChildSide& parent) {
    long fault = syscall(SYS_userfaultfd, O_CLOEXEC);
    void* page = mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uffdio_api api{};
    api.api = UFFD_API;
    uffdio_register range{};
    range.range = {reinterpret_cast<std::uint64_t>(page), kPage};
    range.mode = UFFDIO_REGISTER_MODE_MISSING;
    if (fault < 0 || ioctl(static_cast<int>(fault), UFFDIO_API, &api) != 0 ||
        ioctl(static_cast<int>(fault), UFFDIO_REGISTER, &range) != 0) {
      parent.say(0);
      return;
    }
    std::vector<custom_labels_label_t> slots = {label("a", "1")};
    slots[0].value = {1, static_cast<const unsigned char*>(page)};
    publish_labels(slots);
    parent.say(1);
    parent.burn_until_told();
  });
  if (child.hear() == 0) skip_test("userfaultfd is not available here");
  auto sampler = open_sampler({.frequency_hz = 999});
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  Taken taken;
  // The thread runs on, so there are ever more samples.
  drain_until(*sampler, taken, [&] { return taken.with_flag(LS_RETRIED) >= 50; });
  stop_and_balance(*sampler, taken);
  REQUIRE(taken.of_outcome(LS_UNREADABLE_NOT_RESIDENT) + taken.of_outcome(LS_UNREADABLE_VANISHED) ==
          taken.samples.size());
  REQUIRE(taken.of_outcome(LS_UNREADABLE_NOT_RESIDENT) >= 50);
}
