// Fuzzes a core file: headers, notes, the table of files, memory. Whatever the bytes are, opening
// ends, and a core that was opened answers all questions. The files that it names are not looked
// for.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "fuzz/fuzzed_file.h"
#include "fuzz/fuzzer_check.h"
#include "labelscope/core_file.h"

namespace {

using labelscope::Address;
using labelscope::CoreFile;
using labelscope::Mapping;
using labelscope::UniqueFd;

void read_around(const CoreFile& core, Address address) {
  std::array<std::byte, 64> bytes{};
  for (const Address at : {address - 32, address, address + 4090}) {
    const auto read = core.memory().read(at, bytes);
    fuzzer_check(read || !read.error().context.empty(), "an error says what it is");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const UniqueFd file = FuzzedFile(data, size).open();
  labelscope::CoreOptions options;
  options.sysroots = {"/nonexistent"};
  const auto core = CoreFile::open("/proc/self/fd/" + std::to_string(file.get()), options);
  if (!core) {
    fuzzer_check(!core.error().context.empty(), "an error says what it is");
    return 0;
  }
  fuzzer_check(!(*core)->threads().empty(), "a core has a thread");
  const auto mappings = (*core)->mappings();
  fuzzer_check(mappings.has_value(), "mappings can be listed");
  std::size_t opened = 0;
  for (const Mapping& mapping : *mappings) {
    fuzzer_check(mapping.start < mapping.end, "a mapping has a byte");
    read_around(**core, mapping.start);
    read_around(**core, mapping.end);
    const auto missing = (*core)->open_file(mapping);
    fuzzer_check(!missing && !missing.error().context.empty(), "no file is opened");
    if (++opened == 64) break;
  }
  for (const auto& problem : (*core)->problems()) {
    fuzzer_check(!problem.reason.empty(), "a problem has a reason");
  }
  return 0;
}
