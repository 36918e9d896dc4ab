#include "cli/text/text.h"

#include "cli/check/formats.h"
#include "cli/check/wording.h"
#include "cli/text/escape.h"
#include "findings/check_rule.h"

namespace labelscope::cli {
namespace {

class TextReport {
 public:
  TextReport(const CheckReport& report, const CheckVerdict& verdict, bool color)
      : report_(report), verdict_(verdict), color_(color) {}

  std::string render() {
    for (const JudgedSubject& subject : verdict_.subjects) add_subject(subject);
    add_ends();
    return std::move(text_);
  }

 private:
  std::string painted(std::string_view style, std::string text) const {
    return paint(color_, style, std::move(text));
  }

  static std::string_view color_of(const JudgedDiagnostic& judged) {
    if (judged.accepted) return kCyan;
    constexpr std::string_view kBySeverity[] = {kCyan, kBoldYellow, kRed};
    return kBySeverity[static_cast<std::size_t>(rule_of(judged.diagnostic->rule).severity)];
  }

  void add_subject(const JudgedSubject& judged) {
    const CheckedSubject& subject = *judged.subject;
    text_ += painted(kBold, escape_terminal(subject.name));
    text_ += ": " + std::to_string(subject.rules.size()) + " rules looked at";
    text_ += judged.diagnostics.empty() ? ", all met\n" : "\n";
    for (const JudgedDiagnostic& one : judged.diagnostics) add_diagnostic(one);
  }

  void add_diagnostic(const JudgedDiagnostic& judged) {
    const Rule& rule = rule_of(judged.diagnostic->rule);
    std::string head = std::string(severity_name(rule.severity)) + " " + rule.code;
    if (judged.accepted) head += " (accepted)";
    text_ += "  " + painted(color_of(judged), head) + " " + rule.name + ": " +
             found_text(*judged.diagnostic) + "\n";
    text_ += std::string("    wanted  ") + rule.title + "\n";
    for (const std::string& line : detail_lines(*judged.diagnostic)) text_ += "    " + line + "\n";
  }

  void add_ends() {
    if (!text_.empty()) text_ += '\n';
    for (const CheckProblem& problem : report_.problems) {
      text_ += painted(kRed, "not checked") + "  " + problem_text(problem) + "\n";
    }
    for (const CheckGap& gap : report_.gaps) {
      text_ +=
          painted(verdict_.strict ? kRed : kBoldYellow, "not proven") + "  " + gap_text(gap) + "\n";
    }
    for (const BaselineEntry& entry : verdict_.gone) {
      text_ += painted(kBoldYellow, "baseline") + "  " + gone_text(entry) + "\n";
    }
    for (const std::string& remark : report_.remarks) text_ += escape_terminal(remark) + "\n";
    for (const std::string& line : effort_lines(report_.effort)) text_ += line + "\n";
    const bool clean = verdict_.outcome == CheckVerdict::Outcome::kClean;
    text_ += painted(clean ? kGreen : kRed, verdict_line(report_, verdict_)) + "\n";
  }

  const CheckReport& report_;
  const CheckVerdict& verdict_;
  bool color_;
  std::string text_;
};

}  // namespace

std::string render_check_text(const CheckReport& report, const CheckVerdict& verdict, bool color) {
  return TextReport(report, verdict, color).render();
}

}  // namespace labelscope::cli
