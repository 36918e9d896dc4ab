// The call chain (call_chain.h) as a program of its own: it says where its label and its code are,
// and calls at random until its input has a byte.
//
//   chain_program IN OUT [remap]     the pipes of SampledChild, as numbers
//
//     remap    its code is copied to memory without a file, and moved to its own place
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "kernel/call_chain.h"
#include "kernel/sampled_child.h"

using namespace labelscope::test;

namespace {

// Moves code as programs do that want theirs in huge pages. Nothing here may be called meanwhile.
void remap_code() {
  std::ifstream maps("/proc/self/maps");
  const auto here = reinterpret_cast<std::uint64_t>(&remap_code);
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    char dash = 0;
    std::istringstream(line) >> std::hex >> start >> dash >> end;
    if (here < start || here >= end) continue;
    auto* code = reinterpret_cast<void*>(start);  // NOLINT: an address
    void* copy =
        mmap(nullptr, end - start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) std::exit(92);
    std::memcpy(copy, code, end - start);
    if (mprotect(copy, end - start, PROT_READ | PROT_EXEC) != 0 ||
        mremap(copy, end - start, end - start, MREMAP_MAYMOVE | MREMAP_FIXED, code) != code) {
      std::exit(93);
    }
    return;
  }
  std::exit(94);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 95;
  const ChildSide parent(std::atoi(argv[1]), std::atoi(argv[2]));
  if (argc > 3 && std::string(argv[3]) == "remap") remap_code();
  parent.say(label_offset());
  parent.say(chain_codes().size());
  for (const ChainCode& each : chain_codes()) {
    parent.say(static_cast<std::uint64_t>(each.letter));
    parent.say(each.start);
    parent.say(each.stop);
  }
  call_at_random(4711, [&] { return parent.told(); });
}
