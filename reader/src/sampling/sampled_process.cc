// Without BPF, the kernel does not report execs and new mappings. So SampledProcess looks again and
// again, and compares with the last time.
#include "sampling/sampled_process.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "process/copied_text.h"
#include "sources/label_source.h"

namespace labelscope {
namespace {

bool same_code(const Mapping& a, const Mapping& b) {
  return a.start == b.start && a.end == b.end && a.file_offset == b.file_offset && a.file == b.file;
}

}  // namespace

Result<std::unique_ptr<SampledProcess>> SampledProcess::open(Pid pid,
                                                             const PtraceSamplerOptions& options,
                                                             const SampledProcess* parent,
                                                             const SampledProcess* like) {
  auto process = LiveProcess::open(pid);
  if (!process) return std::move(process).error();
  const std::chrono::nanoseconds period(1'000'000'000 / options.frequency_hz);
  auto threads = ThreadList::open(pid, parent != nullptr, period);
  if (!threads) return std::move(threads).error();
  std::unique_ptr<SampledProcess> sampled(
      new SampledProcess(*std::move(process), *std::move(threads)));
  auto program = RunningProgram::of(*sampled->process_);
  if (!program) return std::move(program).error();
  sampled->program_ = *program;
  const bool forked = parent != nullptr && parent->program_ == *program;
  if (forked) {
    sampled->set_recipes(parent->recipes_, parent->presets_);
    sampled->mappings_hash_ = parent->mappings_hash_;
    sampled->executable_ = parent->executable_;
  } else {
    sampled->recipes_ = {kNotPlanned};
    sampled->poll_mappings([](const Mapping&) {});
  }
  if (options.stacks) {
    const Unwinder* other = like != nullptr ? like->unwinder_.get() : nullptr;
    auto unwinder = Unwinder::open(*sampled->process_, other, options.build_table);
    if (!unwinder) return std::move(unwinder).error();
    sampled->unwinder_ = *std::move(unwinder);
  }
  return sampled;
}

bool SampledProcess::adopt_program() {
  if (!exists()) return false;
  auto program = RunningProgram::of(*process_);
  if (!program) return false;
  program_ = *program;
  set_recipes({&kNotPlanned, 1}, {});
  executable_.clear();
  mappings_hash_ = 0;
  threads_.revive();
  // tried again with the next mapping
  if (unwinder_) static_cast<void>(unwinder_->refresh(*process_));
  return true;
}

Tid SampledProcess::number_inside(Tid tid) const {
  return any_of(recipes_, LS_CURRENT_SOURCES) ? process_->number_inside(tid) : Tid{};
}

std::string SampledProcess::thread_name(Tid tid) const {
  return presets_.read_thread_name() ? process_->thread_name(tid) : std::string();
}

bool SampledProcess::exists() const {
  auto process = LiveProcess::open(pid());
  return process || (process.error().code != ErrorCode::kVanished &&
                     process.error().code != ErrorCode::kNotFound);
}

bool SampledProcess::poll_mappings(const OnMapping& on_mapping) {
  auto text = process_->read_proc("maps");
  if (!text) return false;
  const std::size_t hash = std::hash<std::string_view>{}(*text);
  if (hash == mappings_hash_) return true;
  mappings_hash_ = hash;
  auto mappings = parse_maps(*text);
  if (!mappings) return false;
  name_copied_text(*process_, *mappings);
  std::vector<Mapping> executable;
  for (Mapping& mapping : *mappings) {
    if (mapping.executable) executable.push_back(std::move(mapping));
  }
  if (std::equal(executable.begin(), executable.end(), executable_.begin(), executable_.end(),
                 same_code)) {
    return true;
  }
  const std::vector<Mapping> before = std::exchange(executable_, std::move(executable));
  // stacks are cut, and end with that reason
  if (unwinder_) static_cast<void>(unwinder_->refresh(*process_));
  for (const Mapping& mapping : executable_) {
    auto known = std::ranges::lower_bound(before, mapping.start, {}, &Mapping::start);
    if (known == before.end() || !same_code(*known, mapping)) on_mapping(mapping);
  }
  return true;
}

}  // namespace labelscope
