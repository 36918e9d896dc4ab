// The first inner map of each array of maps of an object. When user space puts a map into an array
// of maps, the kernel lets it wait until no program uses the value before (an RCU grace period: ten
// milliseconds). So the arrays are made before libbpf loads the object, and these waits and the
// verifier's work go on at the same time.
//
//   FirstParts(object)   outer maps, inner maps, a thread for each update ----.
//   libbpf loads         verifies programs                                    | waits
//   settle()             <----------------------------------------------------'
//   take(name)           the inner map, whose user maps it into its memory
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include "labelscope/unique_fd.h"

struct bpf_map;
struct bpf_object;

namespace labelscope {

class FirstParts {
 public:
  FirstParts() = default;
  // Makes the maps of an object that is open and not loaded yet. An array for which that fails has
  // no part here, and libbpf makes it.
  explicit FirstParts(bpf_object* object);
  FirstParts(FirstParts&& other) = default;
  FirstParts& operator=(FirstParts&& other) = default;
  ~FirstParts() { settle(); }

  // Waits until all are in their arrays.
  void settle();
  // Returns the part of the array of this name, or an invalid descriptor if there is none. Call it
  // after settle().
  UniqueFd take(std::string_view name);

 private:
  struct Part {
    UniqueFd map;
    UniqueFd array;
    std::thread update;
    bool failed = false;  // written by the thread
  };
  void make(bpf_map* map);

  std::map<std::string, Part, std::less<>> parts_;
};

}  // namespace labelscope
