// Texts that targets and users can influence: files of /proc (maps has a fuzzer of its own),
// kallsyms, lists of CPUs, the JSON of a baseline, and cgroup paths.
//
//   input = kind, text
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bpf/sampling/perf_event.h"
#include "cli/check/baseline.h"
#include "cli/process/cgroup.h"
#include "cli/symbol/kernel_symbols.h"
#include "fuzz/fuzzer_check.h"
#include "process/cpu_times.h"
#include "process/proc_fs.h"

namespace {

using namespace labelscope;

// The kinds are digits, so that a corpus can be typed.
enum Kind : char { kStat = '0', kStatus, kRunTime, kCpus, kKernelSymbols, kBaseline, kCgroup };

bool is_part(std::string_view part, std::string_view text) {
  return part.empty() ||
         (part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size());
}

void look_up(const std::string& text) {
  const auto symbols = cli::KernelSymbols::parse(text);
  if (!symbols) {
    fuzzer_check(!symbols.error().context.empty(), "an error says what it is");
    return;
  }
  for (const Address address : {Address{0}, Address{0xffffffff81000000}, ~Address{0}}) {
    const auto found = symbols->find(address);
    if (found) fuzzer_check(found->name.find('\n') == found->name.npos, "a name is on its line");
  }
}

void accept(std::string_view text) {
  const auto baseline = cli::parse_baseline(text);
  if (!baseline) {
    fuzzer_check(baseline.error().code == ErrorCode::kMalformed, "it is malformed");
    return;
  }
  for (const cli::BaselineEntry& entry : *baseline) {
    fuzzer_check(!entry.rule.empty() && !entry.fingerprint.empty(), "an entry can be recognized");
  }
}

void find_container(const std::string& text) {
  const cli::CgroupNames names = cli::parse_cgroup(text);
  fuzzer_check(names.container.empty() || names.container.size() == 64, "an ID has 64 digits");
  fuzzer_check(names.pod.empty() || names.pod.size() == 32 || names.pod.size() == 36,
               "a UID is a UUID");
  for (const std::string& part : {names.unit, names.path}) {
    fuzzer_check(text.find(part) != text.npos, "a name is a part of the text");
    fuzzer_check(part.find('\n') == part.npos, "a name is on its line");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0]) {
    case kStat:
      if (const auto stat = parse_thread_stat(text)) {
        fuzzer_check(stat->name.size() < text.size(), "a name is a part of the line");
      }
      break;
    case kStatus:
      for (const char* name : {"State", "Tgid", ""}) {
        fuzzer_check(is_part(status_field(text, name), text), "a value is a part of the text");
      }
      break;
    case kRunTime:
      static_cast<void>(parse_run_time(text));
      break;
    case kCpus:
      if (const auto cpus = parse_cpu_list(text)) {
        fuzzer_check(cpus->size() <= 2 * 65537, "CPUs are bounded");
      }
      break;
    case kKernelSymbols:
      look_up(text);
      break;
    case kBaseline:
      accept(text);
      break;
    case kCgroup:
      find_container(text);
      break;
    default:
      break;
  }
  return 0;
}
