// Tests planning with the test's own process as the target: compiled libraries, loaded by the real
// loader. The library itself says where its variable is.
#include <dlfcn.h>
#include <fcntl.h>
#include <regex.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <thread>

#include "customlabels/label_abi.h"
#include "labelscope/observe.h"
#include "labelscope/plan.h"
#include "sources/custom_labels/custom_labels.h"
#include "support/catch.h"
#include "unit/reader/elf_bytes.h"

namespace labelscope::test {
namespace {

Address thread_pointer() {
  Address pointer = 0;
#if defined(__x86_64__)
  asm("mov %%fs:0, %0" : "=r"(pointer));
#else
  asm("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
  return pointer;
}

using VariableFunction = void*();

VariableFunction* load(const std::string& name) {
  void* handle = ::dlopen(fixture_path(name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) FAIL(::dlerror());
  return reinterpret_cast<VariableFunction*>(::dlsym(handle, "publisher_variable"));
}

ProcessPlan plan_own() {
  skip_in_user_mode_emulation();
  auto process = LiveProcess::open(Pid{::getpid()});
  if (!process) FAIL(process.error().context);
  Planner planner;
  auto plan = planner.plan(**process);
  if (!plan) FAIL(plan.error().context);
  return *std::move(plan);
}

Located locate_own(const Publisher& publisher) {
  auto memory = open_process_memory(Pid{::getpid()});
  return locate(publisher.recipe, thread_pointer(), *memory);
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Plans with the library loaded, and checks in two threads that its variable is where it says.
Publisher check_library(const std::string& name) {
  VariableFunction* variable = load(name);
  REQUIRE(variable != nullptr);
  variable();
  const ProcessPlan plan = plan_own();
  CHECK(plan.refusals.empty());
  CHECK(plan.absence().empty());
  CHECK_FALSE(plan.plan_again);
  REQUIRE(plan.publishers.size() == 1);
  const Publisher& publisher = plan.publishers.front();
  INFO(name << ": " << access_model_name(publisher.model));
  for (const Finding& finding : publisher.findings) UNSCOPED_INFO(finding.text);
  CHECK(publisher.path == std::filesystem::canonical(fixture_path(name)));
  CHECK(locate_own(publisher).address == reinterpret_cast<Address>(variable()));
  Address truth = 0;
  Located found;
  std::thread([&] {
    truth = reinterpret_cast<Address>(variable());
    found = locate_own(publisher);
  }).join();
  CHECK(found.address == truth);
  return publisher;
}

void check_refusal(const std::string& name, const std::string& reason) {
  load(name);
  const ProcessPlan plan = plan_own();
  CHECK(plan.publishers.empty());
  REQUIRE(plan.refusals.size() == 1);
  const std::string clause = finding_clause(plan.refusals.front().finding);
  INFO(clause);
  CHECK(mentions(plan.refusals.front().path, name));
  CHECK(mentions(clause, reason));
  CHECK(mentions(plan.absence(), reason));
}

}  // namespace

TEST_CASE("plan_module: a process without publishers says how many files were looked at") {
  const ProcessPlan plan = plan_own();
  CHECK(plan.publishers.empty());
  CHECK(plan.modules >= 3);
  CHECK(mentions(plan.absence(), std::to_string(plan.modules) + " loaded files"));
}

TEST_CASE("plan_module: a library of general dynamic code is found") {
  const Publisher publisher = check_library("libcustomlabels_gnu.so");
  CHECK(publisher.model == AccessModel::kGeneralDynamic);
  REQUIRE(publisher.findings.size() == 1);
  CHECK(publisher.findings.front().code == FindingCode::kNoTlsDesc);
}

TEST_CASE("plan_module: a library with TLS descriptors is found") {
  const Publisher publisher = check_library("libcustomlabels_gnu2.so");
  const bool descriptor = publisher.model == AccessModel::kTlsDescStatic ||
                          publisher.model == AccessModel::kTlsDescDynamic;
  CHECK(descriptor);
  CHECK(publisher.findings.empty());
}

TEST_CASE("plan_module: a library of initial-exec code is found") {
  CHECK(check_library("libcustomlabels_ie.so").model == AccessModel::kInitialExec);
}

TEST_CASE("plan_module: a protected variable under lld is found through a symbol-less descriptor") {
  const Publisher publisher = check_library("libcustomlabels_protected.so");
  REQUIRE(publisher.findings.size() == 1);  // ABI v1 wants the descriptor to name the variable
  CHECK(publisher.findings.front().code == FindingCode::kNoTlsDesc);
}

TEST_CASE("plan_module: a publisher under another file name is read, with a note") {
  const Publisher publisher = check_library("publishes_under_another_name.so");
  REQUIRE(publisher.findings.size() == 1);
  CHECK(publisher.findings.front().code == FindingCode::kFileName);
}

TEST_CASE("plan_module: a publisher's file that is mapped executable for its bytes is no module") {
  const std::size_t modules = plan_own().modules;
  for (const char* name : {"libcustomlabels_gnu2.so", "libcustomlabels_hash_sysv.so"}) {
    const std::string path = fixture_path(name);
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(fd.valid());
    for (const std::size_t size : {std::size_t{4096}, std::filesystem::file_size(path)}) {
      INFO(name << ", " << size << " bytes");
      void* bytes = ::mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
      REQUIRE(bytes != MAP_FAILED);
      const ProcessPlan plan = plan_own();
      CHECK(plan.modules == modules);
      CHECK(plan.publishers.empty());
      for (const Refusal& refusal : plan.refusals) CHECK(refusal.finding.text == "none");
      ::munmap(bytes, size);
    }
  }
  // Such a mapping does not stand in for the library that is loaded, either.
  const std::string path = fixture_path("libcustomlabels_gnu2.so");
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* bytes = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
  REQUIRE(bytes != MAP_FAILED);
  check_library("libcustomlabels_gnu2.so");
}

TEST_CASE("plan_module: a thread that never touched the variable has none") {
  VariableFunction* variable = load("libcustomlabels_gnu.so");
  const ProcessPlan plan = plan_own();
  REQUIRE(plan.publishers.size() == 1);
  const Located before = locate_own(plan.publishers.front());
  if (before.address) skip_test("the loader put this library into static TLS");
  CHECK((before.flags & LS_NEVER_TOUCHED) != 0);
  variable();
  CHECK(locate_own(plan.publishers.front()).address == reinterpret_cast<Address>(variable()));
}

// The loader maps what comes first at the highest address, and modules are in the order of
// addresses: so the file of another name, which comes last, is the first of them.
TEST_CASE("plan_module: six publishers are read, and that of another name is refused") {
  for (const char* name :
       {"libcustomlabels_gnu.so", "libcustomlabels_gnu2.so", "libcustomlabels_hash_sysv.so",
        "libcustomlabels_hash_gnu.so", "libcustomlabels_hash_both.so", "libcustomlabels_ie.so",
        "publishes_under_another_name.so"}) {
    load(name)();
  }
  const ProcessPlan plan = plan_own();
  CHECK(plan.publishers.size() == LS_MAX_PUBLISHERS);
  REQUIRE(plan.refusals.size() == 1);
  CHECK(plan.refusals.front().path.ends_with("publishes_under_another_name.so"));
  CHECK(mentions(plan.refusals.front().finding.text, "more than 6 publishers"));
  CHECK(plan.absence().empty());
}

TEST_CASE("plan_module: another ABI version is refused by its number") {
  check_refusal("libcustomlabels_WRONG_VERSION.so", "custom_labels_abi_version is 2");
}

TEST_CASE("plan_module: a version of 8 bytes is refused") {
  check_refusal("libcustomlabels_WIDE_VERSION.so", "has 8 bytes");
}

TEST_CASE("plan_module: a variable that is not thread-local is refused") {
  check_refusal("libcustomlabels_NOT_THREAD_LOCAL.so", "is not thread-local");
}

TEST_CASE("plan_module: a version without a variable is refused") {
  check_refusal("libcustomlabels_ONLY_VERSION.so", "without custom_labels_current_set");
}

TEST_CASE("plan_module: a variable without a version is refused") {
  check_refusal("libcustomlabels_ONLY_SET.so", "without custom_labels_abi_version");
}

TEST_CASE("plan_module: only names that the ABI gives its libraries count as such") {
  for (const char* name :
       {"/usr/lib/libcustomlabels.so", "libcustomlabels-1.2.so", "/a/b/libcustomlabelsxyz.so",
        "/x/customlabels.node", "/usr/lib/libcustomlabels.so (deleted)"}) {
    INFO(name);
    CHECK(CustomLabels().is_publisher_name(name));
  }
  for (const char* name : {"/usr/lib/libcustomlabels.so.1", "/libcustomlabels.so/other", "",
                           "/usr/lib/libcustom.so", "customlabels.nodes", "/usr/lib/"}) {
    INFO(name);
    CHECK_FALSE(CustomLabels().is_publisher_name(name));
  }
}

TEST_CASE("plan_module: file names are judged as the ABI's own regular expression judges them") {
  regex_t expression;
  REQUIRE(::regcomp(&expression, CUSTOM_LABELS_LIBRARY_NAME_REGEX, REG_EXTENDED | REG_NOSUB) == 0);
  const std::string parts[] = {"lib", "customlabels", "x", ".so", ".node", ".", "so"};
  constexpr std::size_t kParts = std::size(parts);
  for (std::size_t number = 0; number < kParts * kParts * kParts * kParts; ++number) {
    std::string name;
    for (std::size_t rest = number, i = 0; i < 4; ++i, rest /= kParts) name += parts[rest % kParts];
    INFO(name);
    CHECK(CustomLabels().is_publisher_name("/usr/lib/" + name) ==
          (::regexec(&expression, name.c_str(), 0, nullptr, 0) == 0));
  }
  ::regfree(&expression);
}

TEST_CASE("plan_module: a name of a million letters is no library's") {
  CHECK_FALSE(CustomLabels().is_publisher_name("/libcustomlabels" + std::string(1000000, 'x')));
}

}  // namespace labelscope::test
