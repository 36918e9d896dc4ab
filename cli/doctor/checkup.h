// The lines of `labelscope doctor`.
//
// Doctor has no list of its own of what a recording needs. It goes the way of `record` up to the
// first sample, with the same functions (find_targets(), open_sampler(), drop_rights(),
// Targets::add_to()). The verdict of the line "sampling" or "access" is their answer; the other
// lines explain it.
#pragma once

#include <string>
#include <vector>

#include "cli/record/recorder.h"
#include "cli/record/samplers.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

enum class CheckupVerdict {
  kFine,
  kLimited,  // a recording works, and lacks something
  kMissing,  // a recording fails
};
constexpr CheckupVerdict kFine = CheckupVerdict::kFine;
constexpr CheckupVerdict kLimited = CheckupVerdict::kLimited;

// Texts may have bytes of the target; they are escaped for a terminal.
struct CheckupLine {
  CheckupVerdict verdict = CheckupVerdict::kFine;
  std::string name;   // one word: "kernel", "cap_bpf"
  std::string found;  // what there is
  std::string fix{};  // the command, or the sentence, that mends it; may be empty
  Pid pid{};          // 0: it is about the system
};

struct Checkup {
  std::vector<CheckupLine> lines;
  CheckupVerdict worst() const;
};

// What the kernel, the rights of labelscope, and settings allow. Call it before rights are dropped.
void check_system(Checkup& checkup);
// How the sampler that was opened for a recording works.
void check_sampler(const OpenedSampler& opened, Checkup& checkup);
// What a recording would have of one process, which the recorder has added.
void check_process(Pid pid, const Recorder& recorder, Backend backend, Checkup& checkup);

std::string render_checkup(const Checkup& checkup, bool color);
std::string render_checkup_json(const Checkup& checkup, const std::string& version);

}  // namespace labelscope::cli
