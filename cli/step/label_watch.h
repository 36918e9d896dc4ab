// The labels of one thread, found by one variable of one label source. They are read again only if
// one of their bytes has changed. The thread must be stopped.
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
  // The facts that the process publishes about itself now (null: none); nullopt if they cannot be
  // known.
  using Facts = std::function<std::optional<const ProcessFacts*>()>;
  // Reads the labels. The memory must live as long as this object.
  LabelWatch(Pid pid, const MemorySource& memory, Address variable, const LabelSource& source,
             Facts facts);

  // Returns whether any byte of variable, set, elements, keys and values has changed since the last
  // look. If so, reads everything again. `mapping_changed`: memory may have been mapped or unmapped
  // since, because the thread made a system call. That matters for a set that could not be read: it
  // has no bytes to compare.
  bool look(bool mapping_changed);

  const SetCheck& seen() const { return seen_; }
  // Returns the state before the last look() that returned true.
  const SetCheck& before() const { return before_; }
  // Returns whether the last look() found another value of the variable, which means that another
  // set was published.
  bool published() const { return published_; }
  Address variable() const { return variable_; }
  // Returns the words that a writer is likely to write next, for watchpoints. The variable is
  // first, then the words at which the last changes began.
  std::vector<Address> likely_words() const;

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
  std::vector<SetCheck::Range> pieces_;  // the ranges in `bytes_`, with neighbours joined
  std::vector<std::byte> bytes_;
  std::vector<std::byte> scratch_;
  std::vector<Address> written_;  // the latest first
  Address pointer_ = 0;
  bool published_ = false;
};

// Returns whether two states of a set are equal: the labels, and the rules that it breaks, notes
// included.
bool same_state(const SetCheck& a, const SetCheck& b);

}  // namespace labelscope::cli
