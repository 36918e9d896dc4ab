// This follows BpfSampler::hand_out() and Recorder::on_sample().
#include "sample_path.h"

#include <fstream>
#include <utility>
#include <variant>

#include "bpf/wire/records.h"
#include "cli/format/format.h"

namespace labelscope::bench {

cli::Index FixedProcess::module_at(Address address) {
  return address >= kCodeStart && address < kCodeEnd ? 0 : cli::kNoIndex;
}

bool SamplePath::add(std::span<const std::byte> record) {
  auto decoded = decode_record(record);
  if (!decoded) return false;
  const auto* sample = std::get_if<SampleRecord>(&*decoded);
  if (sample == nullptr) return false;
  label_bytes_.clear();
  append_label_bytes(sample->labels, label_bytes_);
  Sample view = *sample;
  view.outcome = sample->labels.outcome;
  view.flags = sample->labels.flags;
  view.label_bytes = label_bytes_;
  builder_.add(view, process_);
  return true;
}

cli::Profile SamplePath::take() {
  const std::uint64_t samples = builder_.samples();
  cli::Profile profile = builder_.take();
  profile.event = "cpu-clock";
  profile.period_ns = kPeriodNs;
  profile.processes.push_back({Pid{kPid}, "service", {"/usr/lib/libcustomlabels.so"}, {}});
  cli::ProfileModule module;
  module.kind = cli::ProfileModule::Kind::kFile;
  module.path = "/usr/bin/service";
  module.start = kCodeStart;
  module.end = kCodeEnd;
  profile.modules.push_back(std::move(module));
  profile.ledger.taken = profile.ledger.written = samples;
  profile.ledger.outcomes[LS_LABELLED] = samples;
  return profile;
}

Status write_profile(const cli::Profile& profile, std::uint64_t samples, const std::string& path) {
  std::uint64_t counted = 0;
  for (const cli::SampleRow& row : profile.rows) counted += row.count;
  if (counted != samples) {
    return Error{ErrorCode::kMalformed, "the profile holds " + std::to_string(counted) +
                                            " samples of " + std::to_string(samples)};
  }
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  return cli::render_pprof(profile, {}, out);
}

}  // namespace labelscope::bench
