// Fuzzes recordings of unknown origin: .jsonl and pprof, compressed or not. Every format must be
// able to write what was read, and reading that again must give the same.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "cli/format/common/rows.h"
#include "cli/format/format.h"
#include "cli/format/recording_reader.h"
#include "fuzz/fuzzer_check.h"

namespace {

using namespace labelscope::cli;

std::uint64_t samples_in(const Profile& profile) {
  std::uint64_t count = 0;
  for (const SampleRow& row : profile.rows) count += row.count;
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  const auto recording = read_recording(in);
  if (!recording) {
    fuzzer_check(!recording.error().context.empty(), "an error says what it is");
    return 0;
  }
  const Profile& profile = recording->profile;
  fuzzer_check(check_tables(profile).has_value(), "what was read is whole in itself");
  for (const Format& format : kFormats) {
    std::ostringstream out;
    fuzzer_check(format.render(profile, {}, out).has_value(), "every format can hold it");
    if (format.name != "jsonl") continue;
    std::istringstream again(out.str());
    const auto back = read_recording(again);
    fuzzer_check(back.has_value() && back->lost.empty(), "our own recording is read whole");
    fuzzer_check(samples_in(back->profile) == samples_in(profile), "no sample is lost");
  }
  return 0;
}
