// A label source is one way in which programs publish labels. Everything that is special to one of
// them is in its folder; the rest of the reader uses this interface, for each entry of
// label_sources().
//
//   planning    what makes a module a publisher (mostly two symbols), and whether it is one in
//               memory. How a thread's variable is reached: mostly by recipe/, the same for all
//               sources. That gives a recipe with the number of its source.
//   reading     from the variable's address in one thread to labels; or from the bytes that a BPF
//               program sent in their place, because it had no room to make words of them.
//   explaining  the same reading once more, in sentences.
//   checking    its rules, and whether one thread's value keeps them; of a file, planning asks.
//
//                  |  custom_labels    thread_context   otel_context   go_labels        variable
//   ---------------+-----------------------------------------------------------------------------
//   publisher by   |  symbols          symbol           symbol         build info       the user
//   variable       |  a pointer        64 bytes         a pointer      a pointer        as named
//   version        |  symbol, value 1  in the name      in the name    of Go            none
//   BPF sends      |  keys and values  the 64 bytes     the record     keys and values  value, type
//   names of keys  |  in memory        fixed            process facts  in memory        the user's
//   torn states    |  none             detected         none           none             unseen
//   rules          |  LS001 to LS051   LS101 to LS150   LS201 to 250   none             none
//
// preset is the source of servers that publish nothing: a program of steps (preset_program.h), made
// for one process, is its walk, in BPF and in the reader alike. BPF sends its values with their
// types. elastic_context is as otel_context, without attributes. node_context is as otel_context,
// but 32 bytes from which a walk through objects of JavaScript leads to the record; how, the
// process facts may say.
//
// docs/architecture.md ("A label source") lists what changes for a new one. What the rest of the
// reader needs to know of a source is in its About. Sources that need more of a thread than the
// address of a variable (registers, names that the process publishes) find it in ThreadView: each
// source takes from it what it needs. What a walk needs to know of the process (offsets, types) are
// the parameters of its recipe. One module may publish by several sources; each gets its own
// recipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "elf/elf_image.h"
#include "findings/check_rule.h"
#include "labelscope/finding.h"
#include "labelscope/inspect.h"
#include "labelscope/label.h"
#include "labelscope/memory.h"
#include "labelscope/observe.h"
#include "labelscope/result.h"
#include "labelscope/tls_recipe.h"
#include "recipe/access.h"
#include "sources/check_set.h"

namespace labelscope {

// What a source may look at to read the value of one thread.
struct ThreadView {
  const MemorySource& memory;
  Address variable = 0;        // its address in this thread
  std::uint8_t publisher = 0;  // its labels get this index
  // These are for sources that need more than the variable: the recipe's parameters; registers, and
  // what the process publishes once for all threads.
  const ls_tls_recipe* recipe = nullptr;
  const ThreadState* thread = nullptr;
  const Target* process = nullptr;  // for a check that needs its mappings

  const ProcessFacts* facts() const { return thread == nullptr ? nullptr : thread->facts; }
  Meanings meanings() const {
    return thread == nullptr ? Meanings() : Meanings{thread->facts, thread->presets};
  }
};

// What a BPF program would send for a thread, in a raw block.
struct RawReading {
  ls_outcome outcome = LS_UNLABELLED;
  std::uint32_t flags = 0;
  std::vector<std::byte> bytes;  // empty unless outcome is LS_LABELLED
};

struct ThreadLocalNames;

// What is known of a publisher whose variable is to be reached.
struct Reachable {
  const Module& module;
  const FileInspection& file;
  const Result<std::vector<TlsRelocation>>& relocations;  // none if there is no symbol to ask for
  const std::function<const LibcTls&()>& libc;
  const Target& target;
  ModuleTrace* trace;  // may be null
};

// Something that a source knows of a file, for people: "Go", "go1.19.8".
struct SourceDetail {
  std::string_view name;
  std::string text;  // bytes
};

// How the labels of a source change, for a check that steps through a writer (cli/step).
struct UpdateRule {
  RuleId torn{};  // the rule that a state breaks which is neither the one before nor the one after
  std::string_view what;  // the thread's labels, in a sentence: "a record"
  const char* fix;        // a clause
  std::string_view api;   // the beginning of names of functions that change labels
  bool by_pointer;  // true if the variable is a pointer, so that one store may publish everything
  bool hides;       // true if a writer may show no labels at all while it changes them
  // Keys whose values must always be of one moment: never some new and some old.
  std::span<const std::string_view> together;
};

// The reading of one thread, in sentences. Strings from the target are bytes.
struct ReadingStory {
  std::vector<std::string> steps;
  std::vector<Finding> findings;

  // Adds that `what` ("the record") is at an address that cannot be read.
  void add_unreadable(const std::string& what, Address address);
  void add_outcome(const Observation& seen);
};

class LabelSource {
 public:
  struct About {
    ls_source number{};
    std::string_view name;  // for people: "ABI v1"
    // The symbols that make a publisher. `version_symbol` is null if the variable's name includes
    // the version. Both are null if something else makes one: `sign` is what that is, for people.
    const char* version_symbol = nullptr;
    const char* variable_symbol = nullptr;
    std::span<const Rule> rules = {};  // by code
    std::string_view sign = {};
    const UpdateRule* updates = nullptr;  // null if changes of its labels are not judged
    bool usual = false;                   // what messages mean that name no source
    bool needs_facts = false;             // its labels need process facts (process_facts.h)
    bool facts_adapt_walk = false;        // and so does its walk: see adapt()
    // Its raw bytes begin with IDs: so many bytes, and the keys that these have.
    std::uint8_t id_bytes = 0;
    std::span<const std::string_view> ids = {};
    std::string_view waiting = {};  // what waits there without a thread: "goroutines of Go"
    // If true, a file that declares labels which no reader can read is a publisher without a
    // recipe, so that its threads are unreadable; otherwise it is a refusal.
    bool publishes_anyway = false;
  };
  const About about;

  explicit LabelSource(const About& source) : about(source) {}
  LabelSource(const LabelSource&) = delete;
  LabelSource& operator=(const LabelSource&) = delete;
  virtual ~LabelSource() = default;

  // Returns whether a file of this name may be meant as a publisher: a reason to look into its
  // .symtab, and to report it if it cannot be read.
  virtual bool is_publisher_name(std::string_view path) const = 0;
  // Fills in what the file has of the signs of a publisher. This is called for every file, so it
  // must be quick unless `everything` is wanted. A source whose sign is not two symbols replaces
  // it.
  virtual Status find(const ElfImage& image, bool everything, FileInspection& file) const;
  // Returns whether planning has anything to do with such a file: it declares labels, rightly or
  // not.
  virtual bool declares(const FileInspection& file) const;
  // Examines a file that declares labels, and may take long. Afterwards the file may no longer be a
  // publisher.
  virtual Status study(const ElfImage&, FileInspection&) const { return {}; }
  // Judges what is known of a file: fills in rules, findings and verdict. The version is that in
  // the process's memory if there is a process. No reader can use a file with a finding of
  // Harm::kUnreadable; with kVersionUnreadable it may be a publisher.
  virtual void judge(std::string_view path, FileInspection& file) const = 0;
  // The user's name for it, if the user has named it (variable/named_variable.h), and why there is
  // nothing to read if no module has it. `there` are the thread-local variables that exist.
  virtual std::string_view named() const { return {}; }
  virtual Finding missing(std::span<const ThreadLocalNames* const> /*there*/) const { return {}; }
  // Returns the rule that a library with this name must be loaded when the program starts; kNone if
  // there is no such rule.
  virtual RuleId loading_rule(std::string_view /*path*/) const { return RuleId::kNone; }
  // Returns how each thread's variable is reached, with the parameters of the walk.
  virtual AccessPlan reach(const Reachable& publisher) const;
  // Adapts the walk to the facts that the process publishes, which may be null.
  virtual void adapt(const ProcessFacts*, ls_tls_recipe&) const {}
  // Returns what symbols do not show.
  virtual std::vector<SourceDetail> details(const FileInspection&) const { return {}; }

  // Reads the labels of one thread. A source that sends raw blocks takes and decodes one, unless it
  // replaces this.
  virtual Observation read(const ThreadView& thread) const;
  virtual ReadingStory explain(const ThreadView& thread) const = 0;
  // Checks every word of the source's rules literally. The thread must be stopped. Rules about
  // names that the process publishes are checked only if there is `thread.thread`.
  virtual SetCheck check(const ThreadView&) const { return {}; }
  // Returns words behind the variable that a writer is likely to write next, the likeliest first.
  virtual std::vector<Address> likely_words(const MemorySource&, Address /*variable*/) const {
    return {};
  }
  // These are for a source that sends raw blocks (label_blocks.h): its bytes, and the labels of
  // such bytes, which are hostile.
  virtual RawReading take(const ThreadView&) const { return {}; }
  virtual Observation decode(std::span<const std::byte>, std::uint8_t /*publisher*/,
                             const Meanings&) const {
    return {LS_UNREADABLE_MALFORMED, 0, {}};
  }
  bool sends_words() const { return LS_IS_SOURCE_OF(LS_WORD_SOURCES, about.number); }
};

// Returns the sources by which a file can be a publisher by itself: all but the variables that
// users name.
std::span<const LabelSource* const> label_sources();
// Returns the source with a recipe's number; null if there is none.
const LabelSource* find_source(unsigned number);
// Returns whether one of the recipes is for a source of which `flag` is true: any_of(recipes,
// &LabelSource::About::needs_facts).
bool any_of(std::span<const ls_tls_recipe> recipes, bool LabelSource::About::*flag);
// The same for bits of sources (tls_recipe.h): any_of(recipes, LS_CURRENT_SOURCES).
bool any_of(std::span<const ls_tls_recipe> recipes, unsigned sources);
// Does what observe() does, with `read(source, view)` for the content of a variable.
template <class Read>
Observation observe_by(std::span<const ls_tls_recipe> recipes, const ThreadState& thread,
                       const MemorySource& memory, Read read) {
  Observation total;
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    const Located where = locate(recipes[i], thread, memory);
    const LabelSource* source = find_source(recipes[i].source);
    Observation one{where.outcome, where.flags, {}};
    if (where.address && source == nullptr) one = {LS_UNREADABLE_NO_RECIPE, 0, {}};
    if (where.address && source != nullptr) {
      const auto publisher = static_cast<std::uint8_t>(i);
      one = read(*source, ThreadView{memory, *where.address, publisher, &recipes[i], &thread});
    }
    merge_observation(total, std::move(one), i == 0);
  }
  return total;
}
// If labels of two sources have one key, those of the source with the smaller number come first.
// The program's own SDK counts more for its span than others.
unsigned precedence(unsigned source);
// Returns the symbols that readers look for: "a and b, or c".
std::string publisher_symbols();

}  // namespace labelscope
