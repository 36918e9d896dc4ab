// Tests which kernels labelscope warns of, by the texts of uname(2).
#include "bpf/load/kernel.h"

#include "support/catch.h"

using namespace labelscope;

TEST_CASE("kernel: those that can lock up when a BPF program reads a program's memory are named") {
  struct Case {
    const char* release;
    const char* version;
    bool dangerous;
  };
  constexpr const char* kDebian = "#1 SMP PREEMPT_DYNAMIC Debian ";
  for (const Case& one : {
           Case{"5.10.0-32-amd64", "5.10.223-1", false},
           Case{"5.18.19", "", false},
           Case{"5.19.0-50-generic", "#50-Ubuntu SMP", true},
           Case{"6.0.12", "", true},
           // Debian has the package's version in one text and the kernel's in the other.
           Case{"6.1.0-7-amd64", "6.1.20-1 (2023-03-19)", true},
           Case{"6.1.0-9-amd64", "6.1.27-1 (2023-05-08)", false},
           Case{"6.1.26", "", true},
           Case{"6.1.27", "", false},
           Case{"6.1.141-custom", "", false},
           Case{"6.2.0", "", true},
           Case{"6.3.1", "", false},
           Case{"6.18.44", "", false},
           Case{"7.0.1", "", false},
           Case{"unknown", "", false},
       }) {
    INFO(one.release << ", " << one.version);
    const std::string said =
        danger_of_reading_programs(one.release, kDebian + std::string(one.version));
    CHECK(said.empty() != one.dangerous);
    if (one.dangerous) CHECK(said.find(one.release) != std::string::npos);
  }
}
