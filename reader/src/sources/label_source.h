// A label source: one way in which programs publish labels. Everything that only one of them knows
// is in its folder; the rest of the reader asks this interface, for each entry of label_sources().
//
//   planning    what makes a module a publisher (mostly two symbols), and is it one in memory? How a
//               thread's variable is reached: mostly by recipe/, the same for all sources. That gives
//               a recipe with the number of its source.
//   reading     from the variable's address in one thread to labels; or from the bytes that a BPF
//               program sent in their place, because it had no room to make words of them.
//   telling     the same reading once more, in sentences.
//   checking    its rules, and whether one thread's value keeps them; of a file, planning asks.
//
//                  |  custom_labels    thread_context   otel_context   go_labels        variable
//   ---------------+-----------------------------------------------------------------------------
//   publisher by   |  symbols          symbol           symbol         build info       the user
//   variable       |  a pointer        64 bytes         a pointer      a pointer        as told
//   version        |  symbol, value 1  in the name      in the name    of Go            none
//   BPF sends      |  keys and values  the 64 bytes     the record     keys and values  value, type
//   names of keys  |  in memory        fixed            process facts  in memory        the user's
//   torn states    |  none             told as such     none           none             not told
//   rules          |  LS001 to LS051   LS101 to LS150   LS201 to 250   none             none
//
// elastic_context is as otel_context, without attributes. node_context is as otel_context, but 32
// bytes from which a walk through objects of JavaScript leads to the record; how, the process facts
// may say.
//
// A new source: its number in tls_recipe.h, its folder here (its rules are there, too) with an
// entry in sources.cc, and its walk in bpf/include/labelscope/bpf/ with a line in sources.bpf.h.
// What others ask about it is in its About: nothing else names a source.
// Sources that need more of a thread than the address of a variable (registers, names that the
// process publishes) find it in ThreadView: each source takes from it what it needs. What a
// walk needs to know of the process (offsets, types) are the parameters of its recipe. One module
// may publish by several sources; each gets its own recipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
  Address variable = 0;        // in this thread
  std::uint8_t publisher = 0;  // its labels get this index
  // For sources that need more than the variable: the recipe's parameters; registers, and what the
  // process says once for all threads.
  const ls_tls_recipe* recipe = nullptr;
  const ThreadState* thread = nullptr;

  const ProcessFacts* facts() const { return thread == nullptr ? nullptr : thread->facts; }
};

// What a BPF program would send of a thread, in a raw block.
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
  const Result<std::vector<TlsRelocation>>& relocations;  // none without a symbol to ask for
  const std::function<const LibcTls&()>& libc;
  const Target& target;
  ModuleTrace* trace;  // may be null
};

// Something that a source knows of a file, for people: "Go", "go1.19.8".
struct SourceFact {
  std::string_view name;
  std::string text;  // bytes
};

// How the labels of a source change, for a check that steps through a writer (cli/step).
struct UpdateRule {
  RuleId torn{};          // broken by a state that is neither the one before nor the one after
  std::string_view what;  // the thread's labels, in a sentence: "a record"
  const char* fix;        // a clause
  std::string_view api;   // names of functions that change labels begin so
  bool by_pointer;        // the variable is a pointer: one store may publish all
  bool hides;             // a writer may show no labels at all while it changes them
  // Keys whose values are of one moment, whoever changes them: never some new and some old.
  std::span<const std::string_view> together;
};

// Reading one thread, told. Strings from the target are bytes.
struct ReadingStory {
  std::vector<std::string> steps;
  std::vector<Finding> findings;

  // `what` ("the record") is at an address that cannot be read.
  void tell_unreadable(const std::string& what, Address address);
  void tell_outcome(const Observation& seen);
};

class LabelSource {
 public:
  struct About {
    ls_source number{};
    std::string_view name;  // for people: "ABI v1"
    // The symbols that make a publisher. `version_symbol` is null if the variable's name tells it;
    // both are if `sign` makes one instead: what that is, for people.
    const char* version_symbol = nullptr;
    const char* variable_symbol = nullptr;
    std::span<const Rule> rules = {};  // by code
    std::string_view sign = {};
    const UpdateRule* updates = nullptr;  // null: nobody judges how its labels change
    bool usual = false;                   // what messages mean that name no source
    bool needs_facts = false;             // its labels need process facts (process_facts.h)
    bool facts_adapt_walk = false;        // and so does its walk: see adapt()
    bool needs_number_inside = false;     // its walk needs ThreadState::tid, of the process's own
    // A file that declares labels which nobody can read is a publisher without a recipe, so that
    // its threads are unreadable; otherwise it is a refusal.
    bool publishes_anyway = false;
  };
  const About about;

  explicit LabelSource(const About& facts) : about(facts) {}
  LabelSource(const LabelSource&) = delete;
  LabelSource& operator=(const LabelSource&) = delete;
  virtual ~LabelSource() = default;

  // Whether a file of this name may be meant as a publisher: a reason to look into its .symtab, and
  // to tell if it cannot be read.
  virtual bool is_publisher_name(std::string_view path) const = 0;
  // What makes a publisher: fills in what the file has of it. Asked of every file, so it must be
  // quick unless `everything` is wanted. Otherwise than by two symbols only where this is replaced.
  virtual Status find(const ElfImage& image, bool everything, FileInspection& file) const;
  // Whether planning has anything to do with such a file: it declares labels, well or not.
  virtual bool declares(const FileInspection& file) const;
  // Looks closer at a file that declares labels, and may take its time. Afterwards it may be none.
  virtual Status study(const ElfImage&, FileInspection&) const { return {}; }
  // Judges what is known of a file: fills in rules, findings and verdict. A version is that of the
  // process's memory where there is a process. No reader can use a file with a finding of
  // Harm::kUnreadable; with kVersionUnreadable it may be a publisher.
  virtual void judge(std::string_view path, FileInspection& file) const = 0;
  // What the user calls it, where the user has named it (variable/named_variable.h), and why there is
  // nothing to read if no module has it. `there`: the thread-local variables that there are.
  virtual std::string_view named() const { return {}; }
  virtual Finding missing(std::span<const ThreadLocalNames* const> /*there*/) const { return {}; }
  // The rule that a library with this name must be loaded when the program starts; kNone: there is
  // no such rule.
  virtual RuleId loading_rule(std::string_view /*path*/) const { return RuleId::kNone; }
  // How each thread's variable is reached, with the parameters of the walk.
  virtual AccessPlan reach(const Reachable& publisher) const;
  // What the process says of itself (may be null) changes the walk.
  virtual void adapt(const ProcessFacts*, ls_tls_recipe&) const {}
  // What is not told by symbols.
  virtual std::vector<SourceFact> facts(const FileInspection&) const { return {}; }

  // What one thread has. A source that sends raw blocks takes and decodes one, unless it says
  // otherwise here.
  virtual Observation read(const ThreadView& thread) const;
  virtual ReadingStory explain(const ThreadView& thread) const = 0;
  // Takes every word of the source's rules literally. The thread must be stopped. What rules say of
  // names that the process publishes is judged only if there is `thread.thread`.
  virtual SetCheck check(const ThreadView&) const { return {}; }
  // Words of what the variable leads to that a writer is likely to write next, the likeliest first.
  virtual std::vector<Address> telling_words(const MemorySource&, Address /*variable*/) const {
    return {};
  }
  // A source that sends raw blocks (label_blocks.h): its bytes, and labels of such bytes, which are
  // hostile. `facts`: of the process; may be null.
  virtual RawReading take(const ThreadView&) const { return {}; }
  virtual Observation decode(std::span<const std::byte>, std::uint8_t /*publisher*/,
                             const ProcessFacts*) const {
    return {LS_UNREADABLE_MALFORMED, 0, {}};
  }
  bool sends_words() const { return (LS_WORD_SOURCES & 1U << about.number) != 0; }
};

// Those by which a file can be a publisher of itself: all but the variables that users name.
std::span<const LabelSource* const> label_sources();
// Of the source with a recipe's number; null if there is none.
const LabelSource* find_source(unsigned number);
// Whether one of the recipes is for a source of which `flag` is true: any_of(recipes,
// &LabelSource::About::needs_facts).
bool any_of(std::span<const ls_tls_recipe> recipes, bool LabelSource::About::*flag);
// What observe() does, with `read(source, view)` for what a variable holds.
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
// Of two sources whose labels have one key, the labels of that with the smaller number come first.
// What the program's SDK says of its span counts more than others' word on it.
unsigned precedence(unsigned source);
// "a and b, or c": the symbols that readers look for.
std::string publisher_symbols();

}  // namespace labelscope
