// A finding's text comes from a stranger's file: without the escapes it could end the line and
// begin a command of its own.
#include <string_view>

#include "cli/check/formats.h"
#include "cli/check/source_path.h"
#include "cli/check/wording.h"
#include "cli/format/escape.h"

namespace labelscope::cli {
namespace {

std::string escaped(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    if (c == '%') {
      out += "%25";
    } else if (c == '\r') {
      out += "%0D";
    } else if (c == '\n') {
      out += "%0A";
    } else if (property && c == ':') {
      out += "%3A";
    } else if (property && c == ',') {
      out += "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

const char* command_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      break;
  }
  return "notice";
}

std::string annotation(const CheckedSubject& subject, const JudgedDiagnostic& judged) {
  const Diagnostic& diagnostic = *judged.diagnostic;
  const Rule& rule = rule_of(diagnostic.rule);
  std::string properties = "title=" + escaped(std::string(rule.code) + " " + rule.name, true);
  const std::string file = shown_file(subject, diagnostic);
  if (!file.empty()) {
    properties += ",file=" + escaped(escape_terminal(source_path(file)), true);
  }
  if (const CodePlace* place = source_place(diagnostic)) {
    properties += ",line=" + std::to_string(place->line);
  }
  std::string message = escape_terminal(subject.name) + ": " + found_text(diagnostic);
  for (const std::string& line : detail_lines(diagnostic)) message += "\n" + line;
  // A warning that fails the run must not look harmless.
  const char* command = command_of(judged.fails ? Severity::kError : rule.severity);
  return std::string("::") + command + " " + properties + "::" + escaped(message, false) + "\n";
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
    text += "::error title=not checked::" + escaped(problem_text(problem), false) + "\n";
  }
  for (const CheckGap& gap : report.gaps) {
    text += std::string("::") + command_of(verdict.strict ? Severity::kError : Severity::kWarning) +
            " title=not proven::" + escaped(gap_text(gap), false) + "\n";
  }
  for (const BaselineEntry& entry : verdict.gone) {
    text += "::notice title=baseline::" + escaped(gone_text(entry), false) + "\n";
  }
  return text + "labelscope check: " + verdict_line(report, verdict) + "\n";
}

}  // namespace labelscope::cli
