#include "unit/check/report_maker.h"

#include "sources/custom_labels/rules.h"

namespace labelscope::test {

Diagnostic diagnostic(RuleId rule, const std::string& subject, const std::string& found) {
  Diagnostic one;
  one.rule = rule;
  one.subject = subject;
  one.text = found;
  one.fix = "do it right";
  return one;
}

cli::CheckedSubject clean_file(const std::string& path) {
  return {path, {abi_v1::kPlatform, abi_v1::kVersionValue}, {}};
}

cli::CheckedSubject failing_file(const std::string& path) {
  return {path,
          {abi_v1::kPlatform, abi_v1::kCurrentSetAligned, abi_v1::kLibraryTlsDescriptor},
          {diagnostic(abi_v1::kCurrentSetAligned, path, "its alignment is 4"),
           diagnostic(abi_v1::kLibraryTlsDescriptor, path, "it is " + kHostile)}};
}

cli::CheckedSubject failing_process(const std::string& name) {
  Diagnostic torn = diagnostic(abi_v1::kTornUpdate, "thread 12 (" + kHostile + ")", "torn");
  torn.count = 3;
  torn.places = {{"/usr/lib/libc.so.6", 0x1234, "memcpy", "string/memcpy.S", 7},
                 {"/opt/" + kHostile, 0x10, "set_" + kHostile, "src/set labels.c", 42},
                 {"", 0x99, "", "", 0}};
  torn.author_place = 1;
  torn.instruction = "mov %rax,(%rdx)";
  torn.set_before = "{a=1}";
  torn.set_seen = "{a=" + kHostile + "}";
  torn.set_after = "{a=2}";
  return {name,
          {abi_v1::kKeysUnique, abi_v1::kTornUpdate},
          {diagnostic(abi_v1::kKeysUnique, "thread worker", "the key a is there twice"), torn},
          "/opt/program of mine"};
}

}  // namespace labelscope::test
