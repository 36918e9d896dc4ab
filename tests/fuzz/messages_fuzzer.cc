// Fuzzes messages of a worker that an attacker controls. What is accepted is bounded, and can be
// used.
//
//   input = decoder | what is asked for | messages, each: size (two bytes), bytes
#include <algorithm>
#include <string_view>

#include "cli/names/function_table.h"
#include "cli/names/names_messages.h"
#include "cli/unwind/table_messages.h"
#include "fuzz/fuzzer_check.h"

namespace {

using namespace labelscope;
using namespace labelscope::cli;

enum Decoder { kNames, kFunctions, kTable, kWanted, kRequest, kDecoders };

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}
  std::size_t byte() {
    const std::size_t value = rest_.empty() ? 0 : static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(std::min<std::size_t>(1, rest_.size()));
    return value;
  }
  bool ended() const { return rest_.empty(); }
  std::string_view message() {
    const std::size_t wanted = byte() | byte() << 8;
    const std::string_view message = rest_.substr(0, wanted);
    rest_.remove_prefix(message.size());
    return message;
  }

 private:
  std::string_view rest_;
};

void take_names(Input input) {
  NamesReader reader(input.byte());
  while (!input.ended() && reader.take(input.message())) {
  }
  std::size_t text = 0;
  for (const auto& lines : reader.names) {
    fuzzer_check(lines.size() <= kMaxLines, "no address has more lines than it may");
    for (const SourceLine& line : lines) {
      fuzzer_check(line.line >= 0, "no line is negative");
      text += line.function.size() + line.system_name.size() + line.file.size();
    }
  }
  fuzzer_check(text <= kMaxAnswerText, "no more text is kept than there may be");
}

void take_functions(Input input) {
  FunctionsReader reader;
  while (!input.ended() && reader.take(input.message())) {
  }
  for (std::size_t i = 1; i < reader.functions.size(); ++i) {
    fuzzer_check(reader.functions[i - 1].start < reader.functions[i].start, "functions ascend");
  }
}

// Uses the table like UnwindTables::add() and the search in the kernel.
void take_table(Input input) {
  UnwindTableLimits limits;
  limits.rows = 1000;
  limits.rules = input.byte();
  TableReader reader(limits);
  while (!input.ended() && reader.take(input.message())) {
  }
  const auto table = reader.finish();
  if (!table) return;
  fuzzer_check(table->rules.size() <= limits.rules, "there are no more rules than may be");
  std::size_t rows = 0;
  for (std::size_t page = 0; page < table->pages.size(); ++page) {
    fuzzer_check(table->pages[page].first == rows, "pages follow each other");
    rows += table->pages[page].count;
    for (const std::uint64_t offset : {0, 1, 4096, 65535}) {
      const std::uint64_t at = table->text + (page << LS_UNWIND_PAGE_BITS) + offset;
      fuzzer_check(table->rule_at(at) != nullptr, "each address of a page has a rule");
    }
  }
  fuzzer_check(rows == table->rows.size(), "each row is of a page");
  TableReader again(limits);
  send_table(*table, [&](const std::string& body) {
    fuzzer_check(again.take(body).has_value(), "it could be sent on");
  });
  fuzzer_check(again.finish().has_value(), "and taken again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  switch (input.byte() % kDecoders) {
    case kNames:
      take_names(input);
      break;
    case kFunctions:
      take_functions(input);
      break;
    case kTable:
      take_table(input);
      break;
    case kWanted:
      if (const auto wanted = decode_wanted_debug_file(input.message())) {
        fuzzer_check(wanted->link.find('\0') == std::string::npos, "a name ends at its end");
        fuzzer_check(decode_wanted_debug_file(encode(*wanted)).has_value(), "it is one again");
      }
      break;
    default:
      if (const auto request = decode_names_request(input.message())) {
        fuzzer_check(request->addresses.size() <= size, "no address comes from nowhere");
      }
  }
  return 0;
}
