// Tests a small Rust program in both mangling schemes, which prints its own addresses and lines.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "loaded_module.h"
#include "support/catch.h"
#include "temp_folder.h"

using namespace labelscope::cli;  // NOLINT(google-build-using-namespace): a test of this namespace

namespace {

constexpr const char* kRustc = LABELSCOPE_RUSTC;

// The program prints its load bias by the linker (__ehdr_start is the link-time address zero of a
// PIE), since linking to fixed addresses would need another Rust target.
constexpr const char* kSource = R"rust(
mod shop {
    pub struct Cart<T> { pub items: Vec<T> }
    impl<T: Clone> Cart<T> {
        #[inline(never)]
        pub fn checkout(&self) -> (usize, u32) { here() }
    }
    #[inline(always)]
    fn here() -> (usize, u32) {
        let pc: usize;
        #[cfg(target_arch = "x86_64")]
        unsafe { std::arch::asm!("lea {}, [rip]", out(reg) pc) };
        #[cfg(target_arch = "aarch64")]
        unsafe { std::arch::asm!("adr {}, .", out(reg) pc) };
        let line = line!() - if cfg!(target_arch = "x86_64") { 3 } else { 1 };
        (pc - cfg!(target_arch = "x86_64") as usize, line)
    }
}
extern "C" { static __ehdr_start: u8; }
fn main() {
    let cart = shop::Cart { items: vec![1u8] };
    let (pc, line) = std::hint::black_box(&cart).checkout();
    let bias = unsafe { &__ehdr_start as *const u8 as usize };
    println!("{} {} {}", pc, bias, line);
}
)rust";

void check_scheme(const std::string& scheme) {
  if (*kRustc == '\0') skip_test("rustc is not installed");
  TempFolder folder;
  std::ofstream(folder.path() + "/tiny.rs") << kSource;
  std::string program = folder.path() + "/tiny";
  std::string command = std::string("cd '") + folder.path() + "' && '" + kRustc +
                        "' -g -O --crate-name tiny -C symbol-mangling-version=" + scheme +
                        (scheme == "legacy" ? " -Z unstable-options" : "") +
                        " tiny.rs -o tiny 2>log";
  // The compiler's age decides which of the two schemes needs the unstable switch.
  REQUIRE(std::system(("export RUSTC_BOOTSTRAP=1; " + command).c_str()) ==
          0);  // NOLINT(cert-env33-c): fixed words

  std::unique_ptr<FILE, int (*)(FILE*)> output(popen(program.c_str(), "r"), pclose);
  REQUIRE(output != nullptr);
  unsigned long long pc = 0;
  unsigned long long bias = 0;
  int line = 0;
  REQUIRE(std::fscanf(output.get(), "%llu %llu %d", &pc, &bias, &line) == 3);

  LoadedModule loaded;
  loaded.module.kind = ProfileModule::Kind::kFile;
  loaded.module.path = program;
  loaded.module.load_bias = bias;
  loaded.file = open_module_file(program);
  Profile profile = symbolize_addresses(loaded, {pc});
  CHECK(profile.modules[0].symbol_problem.empty());
  const std::vector<SourceLine>& lines = profile.locations[0].lines;
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].function == "tiny::shop::here");
  CHECK(lines[0].line == line);
  CHECK(lines[0].file.str().ends_with("/tiny.rs"));
  // v0 includes the type arguments, the legacy scheme does not.
  CHECK(lines[1].function ==
        (scheme == "v0" ? "<tiny::shop::Cart<u8>>::checkout" : "tiny::shop::Cart<T>::checkout"));
  CHECK(lines[1].system_name.str().starts_with(scheme == "v0" ? "_R" : "_ZN"));
}

}  // namespace

TEST_CASE("symbolizer: Rust names of the v0 scheme are readable") { check_scheme("v0"); }

TEST_CASE("symbolizer: Rust names of the legacy scheme are readable and without hash") {
  check_scheme("legacy");
}
