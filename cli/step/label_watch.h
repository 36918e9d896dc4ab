// The label set of one variable of one thread, read again only when one of its bytes has changed.
// The thread must be stopped.
#pragma once

#include <cstddef>
#include <vector>

#include "labelscope/check_set.h"
#include "labelscope/ids.h"
#include "labelscope/memory.h"

namespace labelscope::cli {

class LabelWatch {
 public:
  // Reads it. The memory must live as long as this object.
  LabelWatch(Pid pid, const MemorySource& memory, Address variable);

  // Whether any byte of variable, set, elements, keys and values differs from what was seen last;
  // if so, everything is read again. `mapping_changed`: memory may have come or gone since (a
  // system call was made), which bytes do not tell of a set that could not be read.
  bool look(bool mapping_changed);

  const SetCheck& seen() const { return seen_; }
  // What had been seen before the last look() that returned true.
  const SetCheck& before() const { return before_; }
  // The variable's own value changed in the last look(): another set was published.
  bool published() const { return published_; }
  Address variable() const { return variable_; }
  // Words that a writer is likely to write next, the variable first, then those where the changes
  // of the last looks that returned true began: for watchpoints.
  std::vector<Address> telling_words() const;

 private:
  void read_again();
  bool read_bytes(std::vector<std::byte>& out) const;
  void note_written();

  Pid pid_;
  const MemorySource* memory_;
  Address variable_;
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
