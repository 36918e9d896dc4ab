// A process to be sampled: a fork of the test, with labels in a thread-local variable of its own.
// It reports the truth itself: where the variable is, and which threads have which labels.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "customlabels/label_abi.h"
#include "labelscope/ids.h"
#include "labelscope/tls_recipe.h"
#include "labelscope/unique_fd.h"

namespace labelscope::test {

// Makes an element with fields as in label_abi.h, for sets that a correct writer would never make.
custom_labels_label_t label(const std::string& key, const std::string& value);

// Sets the calling thread's labels. The elements must outlive their use.
void publish(custom_labels_labelset_t* set);
void publish_labels(std::vector<custom_labels_label_t>& slots);

// Returns the distance of the calling thread's variable from its thread pointer.
std::uint64_t label_offset();

// Burns CPU time in user mode until `done` is true. Its code is between the two addresses.
void burn(const std::function<bool()>& done);
std::pair<std::uint64_t, std::uint64_t> burn_code();

// Maps code of this program so many times, which the kernel announces one by one. Returns the last
// address.
std::uint64_t map_code(unsigned times = 1);
// The ring of a processor holds about 1,000 of these announcements.
constexpr unsigned kMoreThanARing = 3000;

// The child's end of the pipes.
class ChildSide {
 public:
  ChildSide(int in, int out) : in_(in), out_(out) {}
  // Sends the parent a number, which the parent's SampledChild::hear() returns.
  void say(std::uint64_t number) const;
  // Returns true if the parent has sent something or is gone. Does not wait.
  bool told() const;
  void wait_until_told() const;
  // Takes what the parent sent.
  void take() const;
  // Burns CPU time until the parent sends something, and takes it.
  void burn_until_told() const;
  // The pipes of the parent's bytes and of the child's.
  int input() const { return in_; }
  int output() const { return out_; }

 private:
  int in_;
  int out_;
};

class SampledChild {
 public:
  // Runs `body` in a fork, which ends with it. The variable of the child's main thread is where the
  // child reports it.
  explicit SampledChild(const std::function<void(ChildSide&)>& body);
  ~SampledChild();
  SampledChild(const SampledChild&) = delete;
  SampledChild& operator=(const SampledChild&) = delete;

  Pid pid() const { return Pid{pid_}; }
  const ls_tls_recipe& recipe() const { return recipe_; }
  std::uint64_t hear();
  void tell();
  // Waits for the child's end and returns the status as waitpid() does.
  int wait();
  void kill();

 private:
  int pid_ = -1;
  bool reaped_ = false;
  UniqueFd to_child_;
  UniqueFd from_child_;
  ls_tls_recipe recipe_{};
};

}  // namespace labelscope::test
