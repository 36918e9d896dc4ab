// Tests code that comes, goes or moves while stacks are taken by call frame information, compared
// with the call chain in the target's label.
#include <dlfcn.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <thread>
#include <vector>

#include "kernel/chain_samples.h"
#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/rights.h"

using namespace labelscope;
using namespace labelscope::test;

extern "C" char __start_chain_z[];
extern "C" char __stop_chain_z[];

namespace {

namespace fs = std::filesystem;
const SamplerOptions kOptions{
    .frequency_hz = 999, .call_graph = LS_CALL_GRAPH_DWARF, .event = SampledEvent::kClock};

void spin() {
  volatile int rounds = 0;
  while (rounds < 20000) rounds = rounds + 1;
}
__attribute__((noinline, section("chain_z"))) void spin_here() { spin(); }

ChainCodes own_codes() {
  ChainCodes codes = chain_codes();
  codes.push_back({'z', reinterpret_cast<std::uint64_t>(__start_chain_z),
                   reinterpret_cast<std::uint64_t>(__stop_chain_z)});
  return codes;
}

// A library, and what it says of its code.
void (*library_call)(void (*)());
void* load(const char* path, const ChildSide& parent) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == nullptr) _exit(81);
  auto code = reinterpret_cast<void (*)(unsigned long*)>(dlsym(library, "library_code"));
  library_call = reinterpret_cast<void (*)(void (*)())>(dlsym(library, "library_call"));
  unsigned long bounds[2] = {};
  code(bounds);
  parent.say(bounds[0]);
  parent.say(bounds[1]);
  return library;
}

void call_until_told(char letter, void (*call)(), const ChildSide& parent) {
  while (!parent.told()) call_in_chain(letter, call);
  parent.take();
}

std::size_t whole_with(const Taken& taken, char letter) {
  return static_cast<std::size_t>(
      std::count_if(taken.samples.begin(), taken.samples.end(), [&](const TakenSample& sample) {
        return is_complete(sample) && chain_of(sample).ends_with(letter);
      }));
}

void fill_all_rings() {
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(processor), &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) map_code(kMoreThanARing);
  }
}

// Whether the stack leads into code that was not known yet.
bool waits_for_code(const TakenSample& sample) {
  return !is_torn(sample) &&
         (sample.stack_end == LS_STACK_NO_MAPPING || sample.stack_end == LS_STACK_NO_TABLE);
}

std::string end_names(const Taken& taken) { return ends_of(taken.samples); }

// A program that a child has executed.
struct Program {
  ls_tls_recipe recipe{};
  ChainCodes codes;
};
Program hear_program(SampledChild& child) {
  Program program;
  program.recipe.kind = LS_TP_OFFSET;
  program.recipe.offset = static_cast<std::int64_t>(child.hear());
  for (std::uint64_t count = child.hear(); count > 0; --count) {
    const char letter = static_cast<char>(child.hear());
    const std::uint64_t start = child.hear();
    program.codes.push_back({letter, start, child.hear()});
  }
  return program;
}

void execute(const ChildSide& parent, const std::string& program, const char* how = nullptr) {
  const std::string in = std::to_string(parent.input());
  const std::string out = std::to_string(parent.output());
  execl(program.c_str(), program.c_str(), in.c_str(), out.c_str(), how, nullptr);
  _exit(82);
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = fs::temp_directory_path() / "labelscope-chain-XXXXXX";
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

// Samples a child that has executed the program already. Its stacks must be true, and whole.
void expect_whole_stacks(SampledChild& child, const Program& program) {
  auto sampler = open_sampler(kOptions);
  REQUIRE(sampler->set_process(child.pid(), {&program.recipe, 1}));
  REQUIRE(sampler->start());
  Taken taken;
  drain_until(*sampler, taken, [&] { return complete_in(taken.samples) >= 100; });
  stop_and_balance(*sampler, taken);
  INFO(end_names(taken));
  require_true(taken.samples, program.codes);
  require_complete(taken.samples, 990);
}

}  // namespace

TEST_CASE("unwind: stacks of a forked child are whole from its first sample on") {
  SampledChild child([](ChildSide& parent) {
    parent.wait_until_told();
    parent.take();
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      // The grandchild reports itself only when it has been sampled; until then the fork is known
      // from its event only.
      bool has_spoken = false;
      call_at_random(17, [&] {
        constexpr clock_t kSome = CLOCKS_PER_SEC / 20;
        if (!has_spoken && std::clock() >= kSome) {
          parent.say(static_cast<std::uint64_t>(getpid()));
          has_spoken = true;
        }
        return has_spoken && parent.told();
      });
      _exit(0);
    }
    waitpid(grandchild, nullptr, 0);
  });
  auto sampler = open_sampler(kOptions);
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  child.tell();
  const Pid grandchild{static_cast<std::int32_t>(child.hear())};
  Taken taken;
  std::vector<TakenSample> its;
  drain_until(*sampler, taken, [&] {
    its.clear();
    std::copy_if(taken.samples.begin(), taken.samples.end(), std::back_inserter(its),
                 [&](const TakenSample& sample) { return sample.pid == grandchild; });
    return its.size() >= 200;
  });
  child.tell();
  stop_and_balance(*sampler, taken);
  INFO(ends_of(its));
  require_true(its);
  require_complete(its, 990);
  CHECK(std::none_of(its.begin(), its.end(), waits_for_code));
}

TEST_CASE("unwind: a library that is loaded between the first look and the first sample") {
  SampledChild child([](ChildSide& parent) {
    begin_chain();
    parent.wait_until_told();
    parent.take();
    load(paths::kLibraryU, parent);
    call_until_told(
        'u', [] { library_call(spin); }, parent);
  });
  SamplerOptions options = kOptions;
  options.first_processes = {child.pid()};
  auto sampler = open_sampler(options);
  ChainCodes codes = own_codes();
  const auto load_now = [&] {
    child.tell();
    const std::uint64_t start = child.hear();
    codes.push_back({'u', start, child.hear()});
  };
  SECTION("before the process is set") {
    load_now();
    REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  }
  SECTION("after it") {
    REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
    load_now();
  }
  SECTION("after it, when it is no longer a program that has just begun") {
    REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    load_now();
  }
  SECTION("when the kernel has no room to announce it") {
    REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
    SampledChild other([](ChildSide&) { fill_all_rings(); });
    REQUIRE(other.wait() == 0);
    load_now();
  }
  REQUIRE(sampler->start());
  Taken taken;
  drain_until(*sampler, taken, [&] { return whole_with(taken, 'u') >= 50; });
  child.tell();
  stop_and_balance(*sampler, taken);
  INFO(end_names(taken));
  require_true(taken.samples, codes);
  CHECK(std::none_of(taken.samples.begin(), taken.samples.end(), waits_for_code));
}

TEST_CASE("unwind: a library that is loaded later, and another one in its place") {
  SampledChild child([](ChildSide& parent) {
    begin_chain();
    parent.say(1);
    call_until_told('z', spin_here, parent);
    void* library = load(paths::kLibraryU, parent);
    call_until_told(
        'u', [] { library_call(spin); }, parent);
    dlclose(library);
    load(paths::kLibraryV, parent);
    call_until_told(
        'v', [] { library_call(spin); }, parent);
  });
  child.hear();
  auto sampler = open_sampler(kOptions);
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  Taken taken;
  drain_until(*sampler, taken, [&] { return whole_with(taken, 'z') >= 20; });
  ChainCodes codes = own_codes();
  child.tell();
  const std::uint64_t start = child.hear();
  codes.push_back({'u', start, child.hear()});
  drain_until(*sampler, taken, [&] { return whole_with(taken, 'u') >= 50; });
  const std::size_t before = taken.samples.size();
  child.tell();
  const std::uint64_t next_start = child.hear();
  ChainCodes next_codes = own_codes();
  next_codes.push_back({'v', next_start, child.hear()});
  drain_until(*sampler, taken, [&] { return whole_with(taken, 'v') >= 50; });
  child.tell();
  stop_and_balance(*sampler, taken);
  INFO(end_names(taken));
  std::vector<TakenSample> first;
  std::vector<TakenSample> second;
  for (const TakenSample& sample : taken.samples) {
    (chain_of(sample).find('v') == std::string::npos ? first : second).push_back(sample);
  }
  REQUIRE(first.size() >= before);
  require_true(first, codes);
  if (next_start != start) skip_test("the loader has put the second library elsewhere");
  require_true(second, next_codes);
}

TEST_CASE("unwind: an exec while recording, into a program with other tables") {
  SampledChild child([](ChildSide& parent) {
    parent.burn_until_told();
    execute(parent, paths::kChainProgram);
  });
  auto sampler = open_sampler(kOptions);
  REQUIRE(sampler->set_process(child.pid(), {}));
  REQUIRE(sampler->start());
  Taken taken;
  drain_until(*sampler, taken, [&] { return complete_in(taken.samples) >= 20; });
  child.tell();
  drain_until(*sampler, taken, [&] { return !taken.execs.empty(); });
  const Program program = hear_program(child);
  REQUIRE(sampler->set_process(child.pid(), {&program.recipe, 1}));
  const auto labelled = [&] {
    return std::count_if(taken.samples.begin(), taken.samples.end(), [](const TakenSample& sample) {
      return is_complete(sample) && !chain_of(sample).empty();
    });
  };
  drain_until(*sampler, taken, [&] { return labelled() >= 100; });
  stop_and_balance(*sampler, taken);
  INFO(end_names(taken));
  require_true(taken.samples, program.codes);
}

TEST_CASE("unwind: a program whose file is gone, or another one by now") {
  const std::string how = GENERATE("deleted", "replaced");
  const TemporaryFolder folder;
  const std::string path = folder / "program";
  fs::copy_file(paths::kChainProgram, path);
  SampledChild child([&](ChildSide& parent) { execute(parent, path); });
  const Program program = hear_program(child);
  if (how == "deleted") {
    fs::remove(path);
  } else {
    fs::copy_file(paths::kLibraryU, folder / "other");
    fs::rename(folder / "other", path);
  }
  expect_whole_stacks(child, program);
}

TEST_CASE("unwind: a program of another mount namespace") {
  skip_without_bpf();
  const TemporaryFolder folder;
  const std::string path = folder / "program";
  SampledChild child([&](ChildSide& parent) {
    const std::string own = folder / "";
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", own.c_str(), "tmpfs", 0, nullptr) != 0) {
      parent.say(0);
      return;
    }
    parent.say(1);
    fs::copy_file(paths::kChainProgram, path);
    execute(parent, path);
  });
  if (child.hear() == 0) skip_test("a namespace of mounts cannot be made here");
  const Program program = hear_program(child);
  REQUIRE_FALSE(fs::exists(path));
  expect_whole_stacks(child, program);
}

TEST_CASE("unwind: code that was moved into memory without a file is known by its bytes") {
  SampledChild child([](ChildSide& parent) { execute(parent, paths::kChainProgram, "remap"); });
  const Program program = hear_program(child);
  // The program has no frame pointers, so only the table of its file leads to whole stacks.
  expect_whole_stacks(child, program);
}
