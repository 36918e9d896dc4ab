// These are the names of findings, as output shows them.
#include "labelscope/finding.h"

#include <utility>

#include "findings/check_rule.h"

namespace labelscope {

namespace {

using enum FindingCode;

constexpr std::pair<FindingCode, std::string_view> kNames[] = {
    {kNotExported, "not-exported"},
    {kNoPublisher, "no-publisher"},
    {kNoSymbols, "no-symbols"},
    {kLocalSymbol, "local-symbol"},
    {kVersionMissing, "version-missing"},
    {kCurrentSetMissing, "current-set-missing"},
    {kVersionSize, "version-size"},
    {kVersionUnknown, "version-unknown"},
    {kVersionUnreadable, "version-unreadable"},
    {kNotThreadLocal, "not-thread-local"},
    {kCurrentSetSize, "current-set-size"},
    {kFileName, "file-name"},
    {kAsyncLocalStorage, "async-local-storage"},
    {kNoTlsDesc, "no-tlsdesc"},
    {kNotRelocated, "not-relocated"},
    {kUnresolved, "unresolved"},
    {kUnreadableFile, "unreadable-file"},
    {kTooManyPublishers, "too-many-publishers"},
    {kNeverTouched, "never-touched"},
    {kBadPointer, "bad-pointer"},
    {kMalformedSet, "malformed-set"},
    {kNullValue, "null-value"},
    {kTornRecord, "torn-record"},
    {kVariableSize, "variable-size"},
    {kRecordInvalid, "record-invalid"},
    {kIncompleteAttribute, "incomplete-attribute"},
    {kUnknownKey, "unknown-key"},
    {kKeyMapMissing, "key-map-missing"},
    {kUnknownSchema, "unknown-schema"},
    {kContextVersion, "context-version"},
    {kContextSize, "context-size"},
    {kContextMalformed, "context-malformed"},
    {kContextChanging, "context-changing"},
    {kGoVersion, "go-version"},
    {kGoSlot, "go-slot"},
    {kGoChain, "go-chain"},
    {kNoVariable, "no-variable"},
    {kSeveralVariables, "several-variables"},
    {kOutsideBlock, "outside-block"},
    {kNoPreset, "no-preset"},
    {kStaleValues, "stale-values"},
};

}  // namespace

std::string_view finding_name(const Finding& finding) {
  for (const auto& [code, name] : kNames) {
    if (code == finding.code) return name;
  }
  return rule_of(finding.rule).name;
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
