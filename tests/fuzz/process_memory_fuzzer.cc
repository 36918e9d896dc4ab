// Fuzzes a made-up process whose files and memory come from the input. Planning reads both:
// modules, TLS slots, the libc's descriptions of itself, the loader's list (plan.h, recipe/,
// link_map.h, startup.h). In every case there is a plan, and its recipes are of a known kind.
//
//   input = ELF magic ...            one file
//         | size (2 bytes), A, B     two files: the program and, behind it, a library
//
// Memory holds what a loader would map. Every other page beyond that repeats the bytes of the
// input, so that wild pointers hit something.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "elf/elf_image.h"
#include "fuzz/fuzzed_file.h"
#include "fuzz/fuzzer_check.h"
#include "labelscope/explain.h"
#include "labelscope/observe.h"
#include "labelscope/plan.h"
#include "process/copied_text.h"
#include "process/link_map.h"
#include "process/startup.h"

namespace {

using namespace labelscope;

constexpr Address kPage = 4096;
constexpr Address kFirstBias = 0x10000000;
constexpr Address kBiasStep = 0x10000000;
// A file that claims to be larger is mapped up to this size.
constexpr Address kMostMapped = 0x1000000;

class MadeUpMemory final : public MemorySource {
 public:
  struct Part {
    Address start;
    std::string_view bytes;
    Address end;  // filled with zeros up to here
  };
  explicit MadeUpMemory(std::string_view input) : input_(input) {}
  void add(const Part& part) { parts_.push_back(part); }

  Status read(Address address, std::span<std::byte> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto byte = at(address + i);
      if (!byte) return Error{ErrorCode::kUnreadable, "a hole"};
      out[i] = *byte;
    }
    return {};
  }

 private:
  std::optional<std::byte> at(Address address) const {
    for (const Part& part : parts_) {
      if (address < part.start || address >= part.end) continue;
      const Address offset = address - part.start;
      return offset < part.bytes.size() ? static_cast<std::byte>(part.bytes[offset]) : std::byte{0};
    }
    if (address / kPage % 2 != 0) return std::nullopt;
    return static_cast<std::byte>(input_[address % input_.size()]);
  }
  std::string_view input_;
  std::vector<Part> parts_;
};

class MadeUpProcess final : public Target {
 public:
  explicit MadeUpProcess(std::string_view input) : memory_(input) {}

  void load(std::string_view file) {
    const Address bias = kFirstBias + files_.size() * kBiasStep;
    files_.push_back(file);
    const auto image = ElfImage::open(open(file));
    if (!image) return;
    if (const auto headers = image->program_headers_address(); headers && files_.size() == 1) {
      headers_ = bias + *headers;
    }
    for (const LoadSegment& segment : image->load_segments()) {
      if (segment.vaddr > kMostMapped || segment.file_offset > file.size()) continue;
      const Address start = bias + segment.vaddr;
      const Address end = start + std::min(segment.memory_size, kMostMapped);
      memory_.add({start, file.substr(segment.file_offset, segment.file_size), end});
      Mapping mapping;
      mapping.start = start & ~(kPage - 1);
      mapping.end = (end + kPage - 1) & ~(kPage - 1);
      mapping.file_offset = segment.file_offset & ~(kPage - 1);
      mapping.readable = true;
      mapping.writable = segment.writable;
      mapping.executable = segment.executable;
      mapping.file = {8, 1, files_.size()};
      mapping.path = files_.size() == 1 ? "/program" : "/lib/libcustomlabels.so";
      if (mapping.start < mapping.end) mappings_.push_back(std::move(mapping));
    }
    std::sort(mappings_.begin(), mappings_.end(),
              [](const Mapping& a, const Mapping& b) { return a.start < b.start; });
  }

  Result<std::vector<Mapping>> mappings() const override { return mappings_; }
  Result<UniqueFd> open_file(const Mapping& mapping) const override {
    return open(files_[mapping.file.inode - 1]);
  }
  const MemorySource& memory() const override { return memory_; }
  std::optional<Address> program_headers_address() const override { return headers_; }

 private:
  static UniqueFd open(std::string_view file) {
    UniqueFd made(::memfd_create("file", MFD_CLOEXEC));
    const auto written = ::write(made.get(), file.data(), file.size());
    if (written != static_cast<ssize_t>(file.size())) std::abort();
    return made;
  }

  std::vector<std::string_view> files_;
  std::vector<Mapping> mappings_;
  std::optional<Address> headers_;
  MadeUpMemory memory_;
};

void check_plan(const Target& process, bool traced) {
  PlanTrace trace;
  Planner planner;
  const auto plan = planner.plan(process, traced ? &trace : nullptr);
  fuzzer_check(plan.has_value(), "there is a plan");
  fuzzer_check(plan->publishers.size() <= LS_MAX_PUBLISHERS, "publishers are bounded");
  fuzzer_check(plan->publishers.empty() == !plan->absence().empty(), "absence has a reason");
  std::vector<ls_tls_recipe> recipes;
  for (const Publisher& publisher : plan->publishers) {
    fuzzer_check(publisher.recipe.kind <= LS_FIRST_THREAD_AT_ADDRESS, "a recipe is of a known kind");
    recipes.push_back(publisher.recipe);
  }
  const Observation seen = observe(recipes, {kFirstBias + kPage}, process.memory());
  fuzzer_check((seen.outcome == LS_LABELLED) == !seen.labels.empty(), "labelled means labels");
  if (traced) fuzzer_check(!explain_plan(*plan, trace).steps.empty(), "a traced plan can be explained");
  fuzzer_check(planner.plan(process).has_value(), "there is a plan with what was learned, too");
}

// Takes the files of code away, as if it had been copied, and lets them be found again.
void check_copied_text(const Target& process) {
  auto mappings = process.mappings();
  std::vector<Mapping> copied = *mappings;
  for (Mapping& mapping : copied) {
    if (!mapping.executable) continue;
    mapping.file = {};
    mapping.path.clear();
  }
  name_copied_text(process, copied);
  for (std::size_t i = 0; i < copied.size(); ++i) {
    const bool same =
        copied[i].start == (*mappings)[i].start && copied[i].end == (*mappings)[i].end;
    fuzzer_check(same, "no mapping is moved");
    fuzzer_check(!copied[i].file == copied[i].path.empty(), "a file has a name");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  MadeUpProcess process(input);
  if (input.starts_with(ELFMAG)) {
    process.load(input);
  } else {
    const std::size_t first = std::min<std::size_t>(size - 2, data[0] | std::size_t{data[1]} << 8);
    process.load(input.substr(2, first));
    process.load(input.substr(2 + first));
  }
  check_plan(process, false);
  check_plan(process, true);
  check_copied_text(process);
  static_cast<void>(files_loaded_later(process));
  for (const Address dynamic : {kFirstBias, kFirstBias + 2 * kPage, Address{data[0]} << 12}) {
    for (const LoadedLink& link : read_link_map(process.memory(), dynamic).links) {
      fuzzer_check(target_text(process.memory(), link.name).size() <= 4096, "a text is bounded");
    }
  }
  return 0;
}
