// Fuzzes the unwind table of a hostile file, as the worker builds and sends it: labelscope accepts
// every table that an honest worker sends, and gets the same table.
//
//   input = an ELF file
#include <cstring>

#include "cli/unwind/table_messages.h"
#include "cli/worker/channel.h"
#include "fuzz/fuzzed_file.h"
#include "fuzz/fuzzer_check.h"

using namespace labelscope;
using namespace labelscope::cli;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const FuzzedFile file(data, size);
  UnwindTableLimits limits;
  // With the real limits a fuzzer would mostly wait.
  limits.rows = 1 << 16;
  limits.text_bytes = 64 << 20;
  limits.time = std::chrono::milliseconds(500);
  const auto table = build_unwind_table(file.open(), limits);
  if (!table) {
    fuzzer_check(!table.error().context.empty(), "a file without a table has a reason");
    return 0;
  }
  TableReader reader(limits);
  send_table(*table, [&](const std::string& body) {
    fuzzer_check(body.size() < kMaxPacket, "a part of a table fits into a packet");
    fuzzer_check(reader.take(body).has_value(), "a part of a table is taken");
  });
  const auto taken = reader.finish();
  fuzzer_check(taken.has_value(), taken ? "" : taken.error().context.c_str());
  fuzzer_check(taken->rows == table->rows && taken->text == table->text &&
                   taken->pages.size() == table->pages.size() &&
                   taken->rules.size() == table->rules.size() &&
                   taken->segments.size() == table->segments.size(),
               "it is the same table");
  fuzzer_check(std::memcmp(taken->rules.data(), table->rules.data(),
                           table->rules.size() * sizeof(ls_unwind_rule)) == 0,
               "with the same rules");
  return 0;
}
