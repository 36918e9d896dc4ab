// Tests demangle(): names for people, and bounds for names that are made to cost time or memory.
#include "cli/names/demangle.h"

#include <string>

#include "support/catch.h"

using labelscope::cli::demangle;

namespace {

std::string repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("demangle: C++ names come without parameter lists and return types") {
  CHECK(demangle("_ZN3foo3barEiPKc") == "foo::bar");
  CHECK(demangle("_ZNSt6vectorIiSaIiEE9push_backERKi") ==
        "std::vector<int, std::allocator<int> >::push_back");
  CHECK(demangle("_Z3maxIiET_S0_S0_") == "max<int>");
  CHECK(demangle("_ZN3FooD1Ev") == "Foo::~Foo");
  CHECK(demangle("_ZN3FoolsERSo") == "Foo::operator<<");
}

TEST_CASE("demangle: names that are not mangled stay as they are") {
  CHECK(demangle("main") == "main");
  CHECK(demangle("").empty());
  CHECK(demangle("main.main") == "main.main");
  CHECK(demangle("_Zebra") == "_Zebra");
  CHECK(demangle("i") == "i");
}

TEST_CASE("demangle: symbol versions and link-time optimization suffixes are cut") {
  CHECK(demangle("read@@GLIBC_2.2.5") == "read");
  CHECK(demangle("_ZN3foo3barEv.llvm.1234567") == "foo::bar");
  CHECK(demangle("helper.llvm.12x") == "helper.llvm.12x");
}

TEST_CASE("demangle: functions of Go's assembler have the names that Go's own profiles give them") {
  CHECK(demangle("runtime.goexit.abi0") == "runtime.goexit");
  CHECK(demangle("crypto/sha256.block.abi0") == "crypto/sha256.block");
  CHECK(demangle("runtime.goexit.abiinternal") == "runtime.goexit");
  CHECK(demangle("main.abi0") == "main.abi0");
}

TEST_CASE("demangle: the parts into which a compiler splits a function share its name") {
  CHECK(demangle("_ZN3foo3barEv.cold") == "foo::bar");
  CHECK(demangle("_ZN3foo3barEv.constprop.0") == "foo::bar");
}

TEST_CASE("demangle: Rust names lose their hash in both schemes") {
  CHECK(demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE") ==
        "core::fmt::Write::write_fmt");
  std::string implementation = "_$LT$alloc..string..String$u20$as$u20$core..fmt..Write$GT$";
  CHECK(demangle("_ZN" + std::to_string(implementation.size()) + implementation +
                 "9write_str17h0123456789abcdefE") ==
        "<alloc::string::String as core::fmt::Write>::write_str");
  CHECK(demangle("_RNvCskwGfYPst2Cb_5crate3foo") == "crate::foo");
}

TEST_CASE("demangle: long honest names are demangled past libiberty's own limit") {
  std::string mangled = "_ZN" + repeat("9namespace", 150) + "1fEv";
  REQUIRE(mangled.size() > 1024);
  CHECK(demangle(mangled) == repeat("namespace::", 150) + "f");
}

TEST_CASE("demangle: hostile names come back, soon and bounded") {
  CHECK(demangle(std::string(100000, 'Z')).size() == 100000);
  CHECK(demangle("_Z" + std::string(100000, 'Z')).size() == 100002);
  CHECK(demangle("_Z" + std::string(100000, '9')).size() == 100002);
  for (const char* piece :
       {"P", "N", "I", "F", "S", "X", "L", "D", "T", "1aI", "PF", "dt", "cv", "fL", "A_"}) {
    std::string deep = "_Z1f" + repeat(piece, 5000);
    CHECK(demangle(deep.substr(0, 4096)).size() <= 16384);
    CHECK(demangle(deep.substr(0, 1000)).size() <= 16384);
    CHECK(demangle("_R" + deep.substr(4, 4000)).size() <= 16384);
  }
  CHECK(demangle(std::string("_Z3foo\0v", 8)).size() == 8);
}

TEST_CASE("demangle: back-references that double at every step do not fill the memory") {
  // A template whose n-th argument names the (n-1)-th twice would be printed as 2^60 characters.
  std::string mangled = "_Z1fI1pIiiE";
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string last = "S1_";
  for (std::size_t i = 2; i < 34; ++i) {
    mangled.append("S0_I").append(last).append(last).append("E");
    last = std::string("S") + digits[i] + "_";
  }
  mangled += "EvT_";
  CHECK(demangle(mangled).size() <= 16384);
  // This is the same in Rust v0: tuples, each of which refers twice to the previous one by its
  // position.
  std::string rust = "INvC1c1f";
  std::size_t before = rust.size();
  rust += "TllE";
  for (int i = 0; i < 40; ++i) {
    // Positions are written in base 62, less one, with the digits 0-9, a-z, A-Z.
    const std::string digits62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::size_t number = before - 1;
    std::string reference = "B";
    if (number >= 62) reference += digits62[number / 62];
    reference.append(1, digits62[number % 62]).append("_");
    before = rust.size();
    rust.append("T").append(reference).append(reference).append("E");
    std::string whole = "_R" + rust + "E";
    std::string name = demangle(whole);
    CHECK(name.size() <= 16384);
    // Small ones are printed whole.
    if (i < 5) CHECK(name.starts_with("c::f::<(i32, i32), ((i32, i32), (i32, i32))"));
  }
}
