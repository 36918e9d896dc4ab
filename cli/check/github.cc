// A finding's text comes from an untrusted file: without the escapes it could end the line and
// begin a command of its own.
#include "cli/check/formats.h"
#include "cli/check/wording.h"
#include "cli/text/escape.h"
#include "findings/check_rule.h"

namespace labelscope::cli {
namespace {

std::string escaped(const std::string& text) {
  return replaced(text, {{"%", "%25"}, {"\r", "%0D"}, {"\n", "%0A"}});
}

std::string property(const std::string& text) {
  return replaced(escaped(text), {{":", "%3A"}, {",", "%2C"}});
}

std::string command(Severity severity, const std::string& properties, const std::string& message) {
  const char* names[] = {"notice", "warning", "error"};
  return std::string("::") + names[static_cast<std::size_t>(severity)] + " " + properties +
         "::" + escaped(message) + "\n";
}

std::string annotation(const CheckedSubject& subject, const JudgedDiagnostic& judged) {
  const Diagnostic& diagnostic = *judged.diagnostic;
  const Rule& rule = rule_of(diagnostic.rule);
  std::string properties = "title=" + property(std::string(rule.code) + " " + rule.name);
  const std::string file = shown_file(subject, diagnostic);
  if (!file.empty()) {
    properties += ",file=" + property(escape_terminal(source_path(file)));
  }
  if (const CodePlace* place = source_place(diagnostic)) {
    properties += ",line=" + std::to_string(place->line);
  }
  std::string message = escape_terminal(subject.name) + ": " + found_text(diagnostic);
  for (const std::string& line : detail_lines(diagnostic)) message += "\n" + line;
  // A warning that fails the run must not look harmless.
  return command(judged.fails ? Severity::kError : rule.severity, properties, message);
}

}  // namespace

std::string render_check_github(const CheckReport& report, const CheckVerdict& verdict) {
  std::string text;
  for (const JudgedSubject& subject : verdict.subjects) {
    for (const JudgedDiagnostic& one : subject.diagnostics) {
      if (!one.accepted) text += annotation(*subject.subject, one);
    }
  }
  for (const CheckProblem& problem : report.problems) {
    text += command(Severity::kError, "title=not checked", problem_text(problem));
  }
  for (const CheckGap& gap : report.gaps) {
    text += command(verdict.strict ? Severity::kError : Severity::kWarning, "title=not proven",
                    gap_text(gap));
  }
  for (const BaselineEntry& entry : verdict.gone) {
    text += command(Severity::kNote, "title=baseline", gone_text(entry));
  }
  return text + "labelscope check: " + verdict_line(report, verdict) + "\n";
}

}  // namespace labelscope::cli
