// Tests what the iterators need, and what they work without: privilege, limits, pid namespaces.
#include <elf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "bpf/snapshot/task_iterators.h"
#include "bpf/snapshot/task_snapshot.h"
#include "bpf/wire/task_records.h"
#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "process/proc_fs.h"
#include "support/catch.h"
#include "support/rights.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

constexpr int kNobody = 65534;

// Runs `body` in a fork and returns its message, which is empty if all is well.
std::string told_by_fork(const std::function<std::string()>& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    close(ends[0]);
    const std::string said = body() + "\n";
    _exit(write(ends[1], said.data(), said.size()) < 0 ? 2 : 0);
  }
  close(ends[1]);
  std::string said;
  char part[512];
  for (ssize_t got = 0; (got = read(ends[0], part, sizeof(part))) > 0;) {
    said.append(part, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  if (said.empty()) return "the fork ended with status " + std::to_string(status);
  said.pop_back();
  return said;
}

// Becomes another user with no more than these two capabilities.
bool keep_bpf_capabilities_only() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  for (int capability : {CAP_BPF, CAP_PERFMON}) {
    data[CAP_TO_INDEX(capability)].permitted |= CAP_TO_MASK(capability);
  }
  data[0].effective = data[0].permitted;
  data[1].effective = data[1].permitted;
  return prctl(PR_SET_KEEPCAPS, 1) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 &&
         setresuid(kNobody, kNobody, kNobody) == 0 && syscall(SYS_capset, &header, data) == 0;
}

void label_and_sleep(ChildSide& parent) {
  std::vector<custom_labels_label_t> slots = {label("seen", "anyway")};
  publish_labels(slots);
  parent.say(1);
  for (;;) pause();
}

ProcessPlan plan_of(const SampledChild& child) {
  ProcessPlan plan;
  Publisher publisher;
  publisher.recipe = child.recipe();
  plan.publishers.push_back(publisher);
  return plan;
}

void require_iterators() {
  if (geteuid() != 0) skip_test("only root can give up being root");
  skip_without_bpf_snapshot();
  auto process = BpfProcess::open(Pid{getpid()});
  INFO((process ? "" : process.error().context));
  REQUIRE(process);
}

// Returns the mappings by BPF only. (From 6.14 on /proc shows them to a process with CAP_PERFMON.)
std::vector<Mapping> mapped_by_bpf(const BpfProcess& process) {
  std::vector<Mapping> mappings;
  Status status = process.iterators().run(TaskIterators::Kind::kMappings, {},
                                          [&](std::span<const std::byte> record) -> Status {
                                            auto mapping = decode_mapping(record);
                                            if (!mapping) return std::move(mapping).error();
                                            mappings.push_back(*std::move(mapping));
                                            return {};
                                          }, {});
  return status ? mappings : std::vector<Mapping>();
}

std::string difference(const std::vector<Mapping>& here, const std::vector<Mapping>& there) {
  // The kernel's list also names memory without a file, and [vsyscall], which is no mapping.
  std::vector<Mapping> expected = there;
  std::erase_if(expected, [](const Mapping& one) { return one.path == "[vsyscall]"; });
  if (here.size() != expected.size()) {
    return std::to_string(here.size()) + " mappings, not " + std::to_string(expected.size());
  }
  for (std::size_t i = 0; i < here.size(); ++i) {
    const Mapping& a = here[i];
    const Mapping& b = expected[i];
    const bool same = a.start == b.start && a.end == b.end && a.file_offset == b.file_offset &&
                      a.readable == b.readable && a.writable == b.writable &&
                      a.executable == b.executable && a.file == b.file &&
                      (!b.file || a.path == b.path);
    if (!same) return "mapping " + std::to_string(i) + " differs: " + a.path + ", " + b.path;
  }
  return {};
}

}  // namespace

TEST_CASE("task_permission: without privilege the error names the capabilities") {
  require_iterators();
  SampledChild child(label_and_sleep);
  child.hear();
  REQUIRE(told_by_fork([&]() -> std::string {
            if (setuid(kNobody) != 0) return "cannot become another user";
            auto process = BpfProcess::open(child.pid());
            if (process) return "opened without privilege";
            if (process.error().code != ErrorCode::kPermission) return "another code";
            for (const char* word : {"CAP_BPF", "CAP_PERFMON"}) {
              if (process.error().context.find(word) == std::string::npos) {
                return process.error().context;
              }
            }
            return {};
          }).empty());
}

TEST_CASE("task_permission: two capabilities are enough for another user's process") {
  require_iterators();
  SampledChild child(label_and_sleep);
  child.hear();
  auto live = LiveProcess::open(child.pid());
  REQUIRE(live);
  const auto mappings = (*live)->mappings();
  REQUIRE(mappings);
  const auto program_headers = (*live)->program_headers_address();
  const std::string said = told_by_fork([&]() -> std::string {
    if (!keep_bpf_capabilities_only()) return "cannot change user";
    auto refused = LiveProcess::open(child.pid());
    if (!refused) return refused.error().context;
    std::uint64_t word = 0;
    if ((*refused)->memory().read(mappings->front().start,
                                  std::as_writable_bytes(std::span(&word, 1)))) {
      return "its memory can be read anyway, so nothing was tested";
    }

    auto process = BpfProcess::open(child.pid());
    if (!process) return process.error().context;
    auto seen = (*process)->mappings();
    if (!seen) return seen.error().context;
    if (std::string text = difference(mapped_by_bpf(**process), *mappings); !text.empty()) {
      return text;
    }
    if ((*process)->program_headers_address() != program_headers) return "another AT_PHDR";
    std::optional<std::uint64_t> by_bpf;
    Status asked = (*process)->iterators().run(
        TaskIterators::Kind::kAuxv, {}, [&](std::span<const std::byte> record) {
          by_bpf = find_auxiliary(record.subspan(sizeof(ls_task_record)), AT_PHDR);
          return Status();
        }, {});
    if (!asked || by_bpf != program_headers) return "another AT_PHDR through BPF";
    // The program itself may be in a folder that only its owner may enter. libc is for everybody.
    auto program = std::find_if(seen->begin(), seen->end(), [](const Mapping& one) {
      return one.file && access(one.path.c_str(), R_OK) == 0;
    });
    if (program == seen->end()) return "this user can open no file of the child";
    if (auto file = (*process)->open_file(*program); !file) return file.error().context;
    // One is another file of the same name, the other has another file number.
    Mapping other = *program;
    other.file.inode++;
    if ((*process)->open_file(other)) return "took a file with another inode number";
    other = *program;
    other.start = std::find_if(seen->begin(), seen->end(), [&](const Mapping& one) {
                    return one.executable && one.file == program->file;
                  })->start;
    if ((*process)->open_file(other)) return "took a file with other contents";

    auto snapshot = snapshot_by_bpf(**process, plan_of(child));
    if (!snapshot) return snapshot.error().context;
    const bool right = snapshot->threads.size() == 1 &&
                       snapshot->threads[0].seen.labels == LabelSet{{"seen", "anyway", 0}};
    return right ? "" : "other labels";
  });
  INFO(said);
  REQUIRE(said.empty());
}

TEST_CASE("task_permission: numbers are those of labelscope's own pid namespace") {
  require_iterators();
  const std::string said = told_by_fork([]() -> std::string {
    if (unshare(CLONE_NEWPID) != 0) return "no new pid namespace";
    return told_by_fork([]() -> std::string {
      // This is process 1 of the new namespace. The outer /proc still names its namespace, and
      // knows the child by another number.
      SampledChild child(label_and_sleep);
      child.hear();
      if (getpid() != 1) return "not process 1";
      auto iterators = TaskIterators::load(child.pid());
      if (!iterators) return iterators.error().context;
      int threads = 0;
      Status status = (*iterators)
                          ->run(TaskIterators::Kind::kThreads, {},
                                [&](std::span<const std::byte> record) -> Status {
                                  auto thread = decode_thread(record);
                                  if (!thread) return std::move(thread).error();
                                  if (raw(thread->thread.tid) == raw(child.pid())) ++threads;
                                  return {};
                                }, {});
      if (!status) return status.error().context;
      return threads == 1 ? "" : "found " + std::to_string(threads) + " threads";
    });
  });
  INFO(said);
  REQUIRE(said.empty());
}

TEST_CASE("task_permission: too few file descriptors are named") {
  require_iterators();
  const std::string said = told_by_fork([]() -> std::string {
    for (rlim_t most = 10; most < 100; most += 6) {
      rlimit limit{most, 4096};
      if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return "cannot lower the limit";
      auto iterators = TaskIterators::load(Pid{getpid()});
      if (iterators) return most > 10 ? "" : "ten files are enough, so nothing was tested";
      const std::string& context = iterators.error().context;
      if (context.find("RLIMIT_NOFILE") == std::string::npos &&
          context.find("Too many open files") == std::string::npos) {
        return context;
      }
    }
    return "never loaded";
  });
  INFO(said);
  REQUIRE(said.empty());
}
