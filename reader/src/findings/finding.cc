// The names of findings, as output shows them.
#include "labelscope/finding.h"

namespace labelscope {

std::string_view finding_name(const Finding& finding) {
  switch (finding.code) {
    case FindingCode::kRule:
      return rule_of(finding.rule).name;
    case FindingCode::kNotExported:
      return "not-exported";
    case FindingCode::kNoPublisher:
      return "no-publisher";
    case FindingCode::kNoSymbols:
      return "no-symbols";
    case FindingCode::kLocalSymbol:
      return "local-symbol";
    case FindingCode::kVersionMissing:
      return "version-missing";
    case FindingCode::kCurrentSetMissing:
      return "current-set-missing";
    case FindingCode::kVersionSize:
      return "version-size";
    case FindingCode::kVersionUnknown:
      return "version-unknown";
    case FindingCode::kVersionUnreadable:
      return "version-unreadable";
    case FindingCode::kNotThreadLocal:
      return "not-thread-local";
    case FindingCode::kCurrentSetSize:
      return "current-set-size";
    case FindingCode::kFileName:
      return "file-name";
    case FindingCode::kAsyncLocalStorage:
      return "async-local-storage";
    case FindingCode::kNoTlsDesc:
      return "no-tlsdesc";
    case FindingCode::kNotRelocated:
      return "not-relocated";
    case FindingCode::kUnresolved:
      return "unresolved";
    case FindingCode::kUnreadableFile:
      return "unreadable-file";
    case FindingCode::kTooManyPublishers:
      return "too-many-publishers";
    case FindingCode::kNeverTouched:
      return "never-touched";
    case FindingCode::kBadPointer:
      return "bad-pointer";
    case FindingCode::kMalformedSet:
      return "malformed-set";
    case FindingCode::kNullValue:
      return "null-value";
  }
  return "unknown";
}

std::string finding_title(const Finding& finding) {
  const std::string name(finding_name(finding));
  return finding.rule == RuleId::kNone ? name
                                       : std::string(rule_of(finding.rule).code) + " " + name;
}

std::string finding_clause(const Finding& finding) {
  return finding.fix.empty() ? finding.text : finding.text + ": " + finding.fix;
}

}  // namespace labelscope
