// Fuzzes the table of functions of a hostile Go file: the functions that are taken lie within the
// code that it claims, and in order.
//
//   input = an ELF file
#include <string>

#include "elf/go_functions.h"
#include "fuzz/fuzzed_file.h"
#include "fuzz/fuzzer_check.h"

using namespace labelscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const FuzzedFile file(data, size);
  auto image = ElfImage::open(file.open());
  if (!image) return 0;
  const auto functions = GoFunctions::read(*image);
  if (!functions) {
    fuzzer_check(!functions.error().context.empty(), "an error says what it is");
    return 0;
  }
  fuzzer_check(functions->count() <= size / 8, "functions are in the file");
  std::size_t depths = 0;
  for (std::size_t i = 0; i < functions->count(); ++i) {
    const auto function = functions->at(i);
    if (!function) continue;
    fuzzer_check(function->start < function->end, "a function has code");
    fuzzer_check(functions->start() <= function->start && function->end <= functions->end(),
                 "a function lies in the code");
    fuzzer_check(function->name.size() <= size, "a name is in the file");
    std::uint64_t at = function->start;
    // All functions may share one long table.
    if (depths > 1 << 20) continue;
    for (const GoDepth& depth : functions->depths_of(*function)) {
      fuzzer_check(depth.start == at && depth.start < depth.end && depth.end <= function->end,
                   "depths follow each other");
      fuzzer_check(depth.depth >= 0, "no stack is above its start");
      at = depth.end;
      ++depths;
    }
  }
  for (std::uint64_t at = functions->start(); at < functions->start() + 256; ++at) {
    const auto found = functions->find(at);
    fuzzer_check(!found || (found->start <= at && at < found->end), "what is found covers it");
  }
  return 0;
}
