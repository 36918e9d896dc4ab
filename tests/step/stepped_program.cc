#include "step/stepped_program.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/step/tracee.h"
#include "findings/check_rule.h"
#include "support/catch.h"
#include "support/forked_worker.h"
#include "support/paths.h"
#include "support/rights.h"

namespace labelscope::test {

std::ostream& operator<<(std::ostream& out, const Expectation& expectation) {
  return out << expectation.rule << " in " << expectation.function << ", line " << expectation.line;
}

std::set<Expectation> expectations_of(const std::string& source) {
  std::ifstream file(std::string(paths::kStepperSources) + "/" + source);
  REQUIRE(file);
  std::set<Expectation> all;
  unsigned number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const std::size_t mark = line.find("// expect ");
    if (mark == std::string::npos) continue;
    std::istringstream words(line.substr(mark));
    std::string ignored;
    Expectation expectation;
    words >> ignored >> ignored >> expectation.rule >> ignored >> expectation.function;
    expectation.line = number;
    all.insert(expectation);
  }
  return all;
}

std::string stepper(const std::string& name) {
  std::string path = std::string(paths::kStepperPrograms) + "/" + name;
  if (::access(path.c_str(), X_OK) != 0) skip_test(name + " was not built here");
  return path;
}

std::vector<Diagnostic> Stepped::found() const {
  std::vector<Diagnostic> all;
  for (const cli::CheckedSubject& subject : report.subjects) {
    if (!subject.name.starts_with("process ")) continue;
    for (const Diagnostic& diagnostic : subject.diagnostics) {
      if (rule_of(diagnostic.rule).severity != Severity::kNote) all.push_back(diagnostic);
    }
  }
  return all;
}

std::set<Expectation> Stepped::places(const std::string& source) const {
  std::set<Expectation> all;
  for (const Diagnostic& diagnostic : found()) {
    Expectation place{rule_of(diagnostic.rule).code, "?", 0};
    if (!diagnostic.places.empty()) {
      const CodePlace& author = diagnostic.places.at(diagnostic.author_place);
      place.function = author.function;
      if (author.file.ends_with("/" + source)) place.line = author.line;
    }
    all.insert(place);
  }
  return all;
}

std::string Stepped::told() const {
  std::ostringstream out;
  if (!status) out << "failed: " << status.error().context << '\n';
  for (const cli::CheckedSubject& subject : report.subjects) {
    out << subject.name << '\n';
    for (const Diagnostic& diagnostic : subject.diagnostics) {
      out << "  " << rule_of(diagnostic.rule).code << " (" << diagnostic.count << ") "
          << diagnostic.text << " [" << diagnostic.instruction << "] " << diagnostic.set_before
          << " -> " << diagnostic.set_seen << " -> " << diagnostic.set_after << '\n';
      for (const CodePlace& place : diagnostic.places) {
        out << "    " << place.function << " " << place.file << ":" << place.line << " "
            << place.module << '\n';
      }
    }
  }
  for (const auto& problem : report.problems) {
    out << "problem: " << problem.name << ": " << problem.error.context << '\n';
  }
  for (const auto& gap : report.gaps) out << "gap: " << gap.name << ": " << gap.text << '\n';
  for (const std::string& remark : report.remarks) out << "remark: " << remark << '\n';
  const cli::CheckEffort& effort = report.effort;
  out << "steps " << effort.steps << ", updates " << effort.updates << ", unseen "
      << effort.unseen_updates << ", threads " << effort.threads << ", ms "
      << std::chrono::duration_cast<std::chrono::milliseconds>(effort.stepping).count();
  if (report.wait_status) out << ", status " << *report.wait_status;
  return out.str();
}

bool has_watchpoints() {
  skip_without_ptrace();
  return cli::watchpoints_report();
}

namespace {
constexpr const char* kHidden = "LABELSCOPE_NO_WATCHPOINTS";
}

HiddenWatchpoints::HiddenWatchpoints() : were_hidden_(std::getenv(kHidden) != nullptr) {
  ::setenv(kHidden, "1", 1);
}

HiddenWatchpoints::~HiddenWatchpoints() {
  if (!were_hidden_) ::unsetenv(kHidden);
}

Stepped step(const std::vector<std::string>& command, const cli::StepCheckOptions& options) {
  skip_without_ptrace();
  Stepped stepped;
  cli::StepCheckOptions with_worker = options;
  with_worker.worker = cli::honest_worker();
  stepped.status = cli::step_command(command, with_worker, stepped.report);
  return stepped;
}

}  // namespace labelscope::test
