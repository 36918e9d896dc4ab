// The labels of one thread, by one variable of one label source. Reads them again only if one of
// their bytes has changed. The thread must be stopped.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/memory.h"
#include "labelscope/process_facts.h"
#include "sources/label_source.h"

namespace labelscope::cli {

class LabelWatch {
 public:
  // What the process says of itself now (null: nothing), or that nobody can tell.
  using Facts = std::function<std::optional<const ProcessFacts*>()>;
  // Reads them. The memory must live as long as this object.
  LabelWatch(Pid pid, const MemorySource& memory, Address variable, const LabelSource& source,
             Facts facts);

  // Whether any byte of variable, set, elements, keys and values has changed since the last look.
  // If so, reads everything again. `mapping_changed`: memory may have been mapped or unmapped since
  // (the thread made a system call). That matters for a set that could not be read: it has no bytes
  // to compare.
  bool look(bool mapping_changed);

  const SetCheck& seen() const { return seen_; }
  // What had been seen before the last look() that returned true.
  const SetCheck& before() const { return before_; }
  // Whether the last look() found another value of the variable: another set was published.
  bool published() const { return published_; }
  Address variable() const { return variable_; }
  // For watchpoints: the words that a writer is likely to write next. First the variable, then the
  // words at which the last changes began.
  std::vector<Address> telling_words() const;

 private:
  void read_again();
  bool read_bytes(std::vector<std::byte>& out) const;
  void note_written();

  Pid pid_;
  const MemorySource* memory_;
  Address variable_;
  const LabelSource* source_;
  Facts facts_;
  SetCheck seen_;
  SetCheck before_;
  std::vector<SetCheck::Range> pieces_;  // what `bytes_` holds: neighbours joined
  std::vector<std::byte> bytes_;
  std::vector<std::byte> scratch_;
  std::vector<Address> written_;  // the latest first
  Address pointer_ = 0;
  bool published_ = false;
};

// What counts as one state of a set: the labels, and the rules that it breaks, notes included.
bool same_state(const SetCheck& a, const SetCheck& b);

}  // namespace labelscope::cli
