#include "cli/profile/wait_reason.h"

#include <seccomp.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace labelscope::cli {
namespace {

#if defined(__aarch64__)
constexpr std::uint32_t k32Bit = SCMP_ARCH_ARM;
#else
constexpr std::uint32_t k32Bit = SCMP_ARCH_X86;
#endif

}  // namespace

std::string wait_reason(ls_sample_kind kind, std::int32_t system_call) {
  switch (system_call) {
    case LS_CALL_STOPPED:
      return "stopped";
    case LS_CALL_FAULT:
      return "page fault";
    case LS_CALL_THROTTLED:
      return "throttled";
    case LS_CALL_FROZEN:
      return "frozen";
    default:
      break;
  }
  if (system_call < 0) return kind == LS_RUNNABLE ? "preempted" : "page fault";
  const bool is_32_bit = (system_call & LS_CALL_32_BIT) != 0;
  const int number = system_call & ~LS_CALL_32_BIT;
  const std::unique_ptr<char, decltype(&std::free)> name(
      seccomp_syscall_resolve_num_arch(is_32_bit ? k32Bit : SCMP_ARCH_NATIVE, number), &std::free);
  if (name) return name.get();
  // The library is older than the kernel.
  return (is_32_bit ? "32-bit system call " : "system call ") + std::to_string(number);
}

std::string_view reason_of(const LabelSet& labels) {
  const auto wait = std::ranges::find(labels, kWaitKey, &Label::key);
  return wait == labels.end() ? std::string_view() : std::string_view(wait->value);
}

void add_wait_reason(LabelSet& labels, ls_sample_kind kind, std::int32_t system_call,
                     std::uint8_t publisher) {
  if (std::ranges::find(labels, kWaitKey, &Label::key) != labels.end()) return;
  labels.push_back({std::string(kWaitKey), wait_reason(kind, system_call), publisher});
}

}  // namespace labelscope::cli
