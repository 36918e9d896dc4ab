// An ELF file: every question that can be asked of it has an answer.
#include <cstddef>
#include <cstdint>

#include "elf/elf_image.h"
#include "elf/foreign_file.h"
#include "elf/hostile_sections.h"
#include "fuzz/fuzzed_file.h"
#include "fuzz/fuzzer_check.h"
#include "labelscope/inspect.h"

namespace {

using labelscope::ElfImage;

void ask(const ElfImage& image, const char* name) {
  const auto dynamic = image.find_dynamic_symbol(name);
  fuzzer_check(dynamic || !dynamic.error().context.empty(), "an error says what it is");
  const auto symtab = image.find_symtab_symbol(name);
  if (symtab && *symtab) fuzzer_check((*symtab)->defined, "what .symtab has is defined");
  const auto relocations = image.tls_relocations(name);
  if (relocations) fuzzer_check(relocations->size() <= 65536, "relocations are bounded");
}

// Asks what inspect_file() checks beyond the image, also for files of other platforms.
void judge(const FuzzedFile& file) {
  const auto sections = labelscope::check_section_count(file.open().get());
  fuzzer_check(sections || !sections.error().context.empty(), "an error says what it is");
  constexpr std::string_view kName[] = {"custom_labels_current_set"};
  if (sections) static_cast<void>(labelscope::defines_any(file.open(), kName));
  const auto check = labelscope::inspect_file(file.open(), "libcustomlabels.so");
  if (!check) {
    fuzzer_check(!check.error().context.empty(), "an error says what it is");
    return;
  }
  // Three findings break no rule: that labels are in node's AsyncLocalStorage, too, that Go's
  // runtime is unknown, and that its slot is not found.
  fuzzer_check(check->findings.size() <= check->rules.size() + 3, "a rule is broken once at most");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const FuzzedFile file(data, size);
  judge(file);
  const auto image = ElfImage::open(file.open());
  if (!image) return 0;
  fuzzer_check(!image->load_segments().empty(), "there is something to load");
  if (image->tls()) {
    const std::uint64_t align = image->tls()->alignment;
    fuzzer_check(align != 0 && (align & (align - 1)) == 0, "an alignment is a power of two");
  }
  ask(*image, "custom_labels_current_set");
  ask(*image, "custom_labels_abi_version");
  ask(*image, "");
  fuzzer_check(image->build_id().size() <= 128, "a build ID is bounded");
  return 0;
}
