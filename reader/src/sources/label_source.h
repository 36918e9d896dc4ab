// A label source: one way in which programs publish labels. Everything that only one of them knows
// is in its folder; the rest of the reader asks this interface, for each entry of label_sources().
//
//   planning    which symbols make a module a publisher, and is it one in memory? The thread-local
//               variable is then found by recipe/, the same for all sources: that gives a recipe
//               with the number of its source.
//   reading     from the variable's address in one thread to labels; or from the bytes that a BPF
//               program sent in their place, because it had no room to make words of them.
//   telling     the same reading once more, in sentences.
//
//                      |  custom_labels      thread_context
//   -------------------+---------------------------------------
//   variable           |  a pointer          64 bytes
//   version            |  symbol, value 1    in the name
//   BPF sends          |  keys and values    the 64 bytes
//   torn states        |  none               told as such
//
// A new source: its number in tls_recipe.h, its folder here with an entry in sources.cc, and its
// walk in bpf/include/labelscope/bpf/ with a line in sources.bpf.h. Sources that need more of a
// thread than the address of a variable (registers, a dictionary that the process publishes) add it
// to ThreadView: each source takes from it what it needs. One module may publish by several
// sources; each gets its own recipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/elf_image.h"
#include "labelscope/finding.h"
#include "labelscope/label.h"
#include "labelscope/memory.h"
#include "labelscope/plan_trace.h"
#include "labelscope/result.h"
#include "labelscope/tls_recipe.h"

namespace labelscope {

// How a file is linked, as far as it decides what makes its symbols dynamic.
enum class Linkage { kLibrary, kExecutable, kStatic };
Linkage linkage_of(bool executable, bool has_dynamic_symbols);

// A module whose symbols make it a candidate.
struct Candidate {
  const Publication& publication;
  std::string_view path;
  Machine machine{};
  Linkage linkage{};
  // By which a library's code reaches the variable; empty for executables.
  std::span<const TlsRelocation> relocations;
};

// What a source may look at to read the value of one thread.
struct ThreadView {
  const MemorySource& memory;
  Address variable = 0;        // in this thread
  std::uint8_t publisher = 0;  // its labels get this index
};

// Reading one thread, told. Strings from the target are bytes.
struct ReadingStory {
  std::vector<std::string> steps;
  std::vector<Finding> findings;
};

class LabelSource {
 public:
  LabelSource() = default;
  LabelSource(const LabelSource&) = delete;
  LabelSource& operator=(const LabelSource&) = delete;
  virtual ~LabelSource() = default;

  virtual ls_source number() const = 0;
  // For people: "ABI v1".
  virtual std::string_view name() const = 0;
  // The symbols that make a publisher. `version` is null if the variable's name tells it.
  virtual const char* version_symbol() const = 0;
  virtual const char* variable_symbol() const = 0;

  // What a file defines. `symtab_too`: look into .symtab, too.
  virtual Result<Publication> find(const ElfImage& image, bool symtab_too) const = 0;
  // Whether a file of this name may be meant as a publisher: a reason to look into its .symtab, and
  // to tell if it cannot be read.
  virtual bool is_publisher_name(std::string_view path) const = 0;
  // Why such symbols make no publisher; nullopt if they make one.
  virtual std::optional<Finding> disqualify(const Publication& publication) const = 0;
  // The same for what stands in the memory of the process. Fills seen.version_word.
  // kVersionUnreadable: it may be one.
  virtual std::optional<Finding> confirm(const MemorySource& memory, bool alive,
                                         ModuleTrace& seen) const = 0;
  // What a publisher does otherwise than the source's specification asks. It is read nevertheless.
  virtual std::vector<Finding> deviations(const Candidate& candidate) const = 0;
  // Why symbols that only .symtab has make no publisher; nullopt if none are meant to.
  virtual std::optional<Finding> find_hidden(const Publication& publication,
                                             Linkage linkage) const = 0;

  virtual Observation read(const ThreadView& thread) const = 0;
  virtual ReadingStory explain(const ThreadView& thread) const = 0;
  // Labels from the bytes of a raw block (label_blocks.h), which are hostile; none if the source
  // has no such block, or these are not its bytes.
  virtual LabelSet decode(std::span<const std::byte> raw, std::uint8_t publisher) const = 0;
};

// By their numbers in enum ls_source.
std::span<const LabelSource* const> label_sources();
// Of the source with a recipe's number; null if there is none.
const LabelSource* find_source(unsigned number);
// "a and b, or c": the symbols that readers look for.
std::string publisher_symbols();

}  // namespace labelscope
