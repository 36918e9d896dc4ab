// Set-ups in which labels are not shown, or by labelscope only, and what the explanation says of
// each: the right finding, and no other. The programs are targets/broken.
#include "labelscope/explain.h"

#include <algorithm>
#include <set>

#include "labelscope/observe.h"
#include "labelscope/stopped_thread.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/rights.h"
#include "support/target_process.h"

namespace labelscope::test {
namespace {

using Codes = std::vector<FindingCode>;
using Pairs = std::set<std::pair<std::string, std::string>>;

std::string broken_file(const std::string& name) {
  return std::string(paths::kBrokenTargets) + "/" + name;
}

struct Case {
  std::string program;
  std::vector<std::string> arguments;
  Codes plan;        // the findings about the process
  Codes thread;      // the findings about its first thread
  bool read = true;  // whether its labels are shown all the same
};

std::string names_of(const std::vector<Finding>& findings) {
  std::string names;
  for (const Finding& finding : findings) names += std::string(finding_name(finding)) + " ";
  return names;
}

std::string names_of(const Codes& codes) {
  std::vector<Finding> findings;
  for (const FindingCode code : codes) findings.push_back({code, {}, {}});
  return names_of(findings);
}

// Checks that every finding says what is wrong, and what to do about it.
void check_findings(const std::vector<Finding>& findings, const Codes& expected) {
  for (const Finding& finding : findings) {
    UNSCOPED_INFO(finding_clause(finding));
    CHECK_FALSE(finding.text.empty());
    CHECK_FALSE(finding.fix.empty());
  }
  CHECK(names_of(findings) == names_of(expected));
}

struct Explained {
  Explanation plan;
  Explanation thread;
};

bool tells(const std::vector<std::string>& steps, const std::string& part) {
  return std::any_of(steps.begin(), steps.end(),
                     [&](const std::string& step) { return step.find(part) != std::string::npos; });
}

Pairs true_pairs(const TruthThread& truth) {
  Pairs pairs;
  for (const TruthVariable& variable : truth.variables) {
    for (const Label& label : variable.labels) pairs.emplace(label.key, label.value);
  }
  return pairs;
}

Explained check(const Case& broken) {
  TargetOptions options;
  options.program = broken_file(broken.program);
  options.arguments = broken.arguments;
  auto target = TargetProcess::spawn(options);
  if (!target) FAIL(target.error().context);
  auto process = LiveProcess::open(target->pid());
  if (!process) FAIL(process.error().context);
  PlanTrace trace;
  auto plan = Planner().plan(**process, &trace);
  if (!plan) FAIL(plan.error().context);
  Explained told;
  told.plan = explain_plan(*plan, trace);
  for (const std::string& step : told.plan.steps) UNSCOPED_INFO(step);
  check_findings(told.plan.findings, broken.plan);

  REQUIRE(target->threads().size() == 1);
  const TruthThread& truth = target->threads().front();
  skip_without_ptrace();
  auto stopped = StoppedThread::stop(truth.tid);
  if (!stopped) FAIL(stopped.error().context);
  auto thread_pointer = stopped->thread_pointer();
  REQUIRE(thread_pointer);
  told.thread = explain_thread(*plan, {*thread_pointer}, (*process)->memory());
  for (const std::string& step : told.thread.steps) UNSCOPED_INFO(step);
  check_findings(told.thread.findings, broken.thread);

  std::vector<ls_tls_recipe> recipes;
  for (const Publisher& publisher : plan->publishers) recipes.push_back(publisher.recipe);
  const Observation seen = observe(recipes, {*thread_pointer}, (*process)->memory());
  Pairs labels;
  for (const Label& label : seen.labels) labels.emplace(label.key, label.value);
  CHECK(labels == (broken.read ? true_pairs(truth) : Pairs{}));
  // The labels in the explanation are those that were read.
  for (const Label& label : seen.labels) {
    CHECK(tells(told.thread.steps, ": " + label.key + "=" + label.value));
  }
  return told;
}

const std::string kTenant = ": tenant=acme";

}  // namespace

TEST_CASE("explain: a program that does everything right has no finding") {
  const Explained told = check({"good-program", {}, {}, {}});
  CHECK(tells(told.plan.steps, "custom_labels_current_set in .dynsym: TLS, GLOBAL"));
  CHECK(tells(told.plan.steps, "the word in memory is 1"));
  CHECK(tells(told.thread.steps, kTenant));
}

TEST_CASE("explain: a process without publishers has a list of what was looked for") {
  const Explained told = check({"no-publisher", {}, {FindingCode::kNoPublisher}, {}});
  REQUIRE(told.plan.findings.size() == 1);
  CHECK(told.plan.findings[0].text.find("custom_labels_current_set") != std::string::npos);
}

TEST_CASE("explain: an executable that does not export is read, with a hint how to export") {
  const Explained told = check({"not-exported", {}, {FindingCode::kNotExported}, {}});
  REQUIRE(told.plan.findings.size() == 1);
  CHECK(told.plan.findings[0].fix.find("--export-dynamic-symbol=custom_labels_current_set") !=
        std::string::npos);
}

TEST_CASE("explain: a stripped static executable has nothing to be found by") {
  check({"stripped-static", {}, {FindingCode::kNoSymbols}, {}, false});
}

TEST_CASE("explain: a library under another name is read, with a hint about its name") {
  check({"with-renamed", {}, {FindingCode::kFileName}, {}});
}

TEST_CASE("explain: another version is not read") {
  const Explained told = check({"wrong-version", {}, {FindingCode::kVersionUnknown}, {}, false});
  CHECK(tells(told.plan.steps, "the word in memory is 2"));
}

TEST_CASE("explain: a version of 8 bytes is not read") {
  check({"wide-version", {}, {FindingCode::kVersionSize}, {}, false});
}

TEST_CASE("explain: general dynamic code is read, with a hint about the dialect") {
  const Explained told = check({"with-gd", {}, {FindingCode::kNoTlsDesc}, {}});
  CHECK(tells(told.plan.steps, "module ID"));
}

TEST_CASE("explain: initial-exec code is read, with a hint about the dialect") {
  check({"with-ie", {}, {FindingCode::kNoTlsDesc}, {}});
}

TEST_CASE("explain: a variable of four bytes is no pointer") {
  check({"four-bytes", {}, {FindingCode::kCurrentSetSize}, {}, false});
}

TEST_CASE("explain: a variable that is not thread-local is not read") {
  check({"not-thread-local", {}, {FindingCode::kNotThreadLocal}, {}, false});
}

TEST_CASE("explain: local symbols of an executable are read, with a hint to make them global") {
  check({"local-symbol", {}, {FindingCode::kLocalSymbol}, {}});
}

TEST_CASE("explain: hidden symbols of some library are seen, though planning does not look there") {
  check({"no-publisher",
         {"--dlopen", broken_file("libhidden.so")},
         {FindingCode::kLocalSymbol},
         {},
         false});
}

TEST_CASE("explain: a variable without a version is not read") {
  check({"only-set", {}, {FindingCode::kVersionMissing}, {}, false});
}

TEST_CASE("explain: a version without a variable is not read") {
  check({"only-version", {}, {FindingCode::kCurrentSetMissing}, {}, false});
}

TEST_CASE("explain: a thread that never touched the variable has that as its finding") {
  const Explained told =
      check({"no-publisher",
             {"--write", "nothing", "--dlopen", broken_file("libcustomlabels-large.so")},
             {},
             {FindingCode::kNeverTouched}});
  CHECK(tells(told.thread.steps, "DTV"));
}

TEST_CASE("explain: a thread that touched the variable and set nothing has no finding") {
  const Explained told =
      check({"no-publisher",
             {"--write", "null-pointer", "--dlopen", broken_file("libcustomlabels-large.so")},
             {},
             {}});
  CHECK(tells(told.plan.steps, "dynamic TLS descriptor"));
  CHECK(tells(told.thread.steps, "holds the block's address"));
  CHECK(tells(told.thread.steps, "it is null"));
}

TEST_CASE("explain: pointers into memory that is not there are named") {
  for (const char* what : {"unmapped-set", "unmapped-storage", "unmapped-string"}) {
    INFO(what);
    check({"good-program", {"--write", what}, {}, {FindingCode::kBadPointer}});
  }
}

TEST_CASE("explain: a huge count, and a count without storage, are malformed") {
  for (const char* what : {"huge-count", "no-storage"}) {
    INFO(what);
    check({"good-program", {"--write", what}, {}, {FindingCode::kMalformedSet}});
  }
}

TEST_CASE("explain: a null value is named, and the other labels are read") {
  const Explained told =
      check({"good-program", {"--write", "null-value"}, {}, {FindingCode::kNullValue}});
  CHECK(tells(told.thread.steps, kTenant));
}

TEST_CASE("explain: the seventh publisher is one too many") {
  std::vector<std::string> arguments;
  for (int i = 1; i <= 7; ++i) {
    arguments.emplace_back("--dlopen");
    arguments.push_back(broken_file("libcustomlabels-" + std::to_string(i) + ".so"));
  }
  check({"no-publisher", arguments, {FindingCode::kTooManyPublishers}, {}});
}

}  // namespace labelscope::test
