// Measures how long it takes to see whether a file publishes labels, compared with tools that read
// all of it. The files are those of make_large_elf.sh, and any others.
//
//   bench_elf <folder of make_large_elf.sh> [file...] [--benchmark_...]
#include <fcntl.h>
#include <gelf.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "aims.h"
#include "customlabels/label_abi.h"
#include "elf/elf_image.h"
#include "runner.h"

namespace labelscope::bench {
namespace {

constexpr double kTimesFaster = 1000;

UniqueFd open_file(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

struct Symbols {
  std::optional<ElfSymbol> version;
  std::optional<ElfSymbol> variable;
};

// Asks of a file what planning asks of every file. Returns null if that is not possible.
std::optional<Symbols> look_up(const ElfImage& image) {
  auto version = image.find_dynamic_symbol(CUSTOM_LABELS_VERSION_SYMBOL);
  auto variable = image.find_dynamic_symbol(CUSTOM_LABELS_CURRENT_SET_SYMBOL);
  if (!version || !variable) return std::nullopt;
  return Symbols{*version, *variable};
}

void reject(benchmark::State& state, const std::string& path) {
  for (auto _ : state) {
    auto image = ElfImage::open(open_file(path));
    auto symbols = image ? look_up(*image) : std::nullopt;
    if (!symbols || symbols->version || symbols->variable) {
      state.SkipWithError("not rejected");
      return;
    }
  }
}

// For a publisher this also finds the relocations that reach its variable.
void accept(benchmark::State& state, const std::string& path) {
  for (auto _ : state) {
    auto image = ElfImage::open(open_file(path));
    auto symbols = image ? look_up(*image) : std::nullopt;
    if (!symbols || !symbols->version || !symbols->variable) {
      state.SkipWithError("not accepted");
      return;
    }
    auto relocations = image->tls_relocations(CUSTOM_LABELS_CURRENT_SET_SYMBOL);
    if (!relocations || relocations->empty()) {
      state.SkipWithError("no relocation found");
      return;
    }
  }
}

std::size_t count_named(Elf* elf, const GElf_Shdr& header, Elf_Data* data) {
  std::size_t found = 0;
  const std::size_t count = data->d_size / sizeof(Elf64_Sym);
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name != nullptr && std::strcmp(name, CUSTOM_LABELS_CURRENT_SET_SYMBOL) == 0) ++found;
  }
  return found;
}

std::size_t count_thread_local(Elf_Data* data) {
  std::size_t found = 0;
  const std::size_t count = data->d_size / sizeof(Elf64_Rela);
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Rela rela;
    if (gelf_getrela(data, static_cast<int>(i), &rela) == nullptr) break;
    const std::uint64_t type = ELF64_R_TYPE(rela.r_info);
    if (type == R_X86_64_TLSDESC || type == R_AARCH64_TLSDESC) ++found;
  }
  return found;
}

// Reads every dynamic symbol and every relocation through libelf, as a straightforward reader does.
void scan_all(benchmark::State& state, const std::string& path) {
  for (auto _ : state) {
    const UniqueFd file = open_file(path);
    Elf* elf = elf_begin(file.get(), ELF_C_READ_MMAP, nullptr);
    std::size_t found = 0;
    std::size_t tables = 0;
    for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
         section = elf_nextscn(elf, section)) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr) break;
      if (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_RELA) continue;
      Elf_Data* data = elf_getdata(section, nullptr);
      if (data == nullptr) continue;
      ++tables;
      found +=
          header.sh_type == SHT_DYNSYM ? count_named(elf, header, data) : count_thread_local(data);
    }
    benchmark::DoNotOptimize(found);
    elf_end(elf);
    if (tables == 0) {
      state.SkipWithError("no table found");
      return;
    }
  }
}

void readelf(benchmark::State& state, const std::string& path) {
  std::vector<std::string> words{"readelf", "-Ws", "--dyn-syms", "-r", path};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  for (auto _ : state) {
    pid_t pid = -1;
    int status = -1;
    if (posix_spawnp(&pid, "readelf", &actions, nullptr, arguments.data(), environ) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0) {
      state.SkipWithError("readelf failed");
      break;
    }
  }
  posix_spawn_file_actions_destroy(&actions);
}

using Measure = void (*)(benchmark::State&, const std::string&);

void add(const std::string& what, const std::string& file, Measure measure) {
  const std::string name = what + " " + file.substr(file.rfind('/') + 1);
  benchmark::RegisterBenchmark(name.c_str(),
                               [measure, file](benchmark::State& state) { measure(state, file); })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond)
      ->MinTime(0.05);
}

void run(const std::string& folder, std::vector<std::string> rejected) {
  elf_version(EV_CURRENT);
  const std::string publisher = folder + "/publisher.so";
  rejected.insert(rejected.begin(), {folder + "/tls.so", folder + "/plain.so"});
  for (const std::string& file : rejected) {
    add("reject", file, reject);
    add("libelf, all of", file, scan_all);
    add("readelf", file, readelf);
  }
  add("accept", publisher, accept);
  add("libelf, all of", publisher, scan_all);
  add("readelf", publisher, readelf);
  const Medians medians = run_all();
  std::printf("\n");
  for (const std::string& file : rejected) {
    const std::string name = file.substr(file.rfind('/') + 1);
    report_aim("readelf / rejecting " + name,
               medians.seconds("readelf " + name) / medians.seconds("reject " + name),
               Bound::kAtLeast, kTimesFaster);
  }
}

}  // namespace
}  // namespace labelscope::bench

int main(int argc, char** argv) {
  labelscope::bench::initialize(argc, argv, 9);
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_elf <folder> [file...] [--benchmark_...]\n");
    return 2;
  }
  labelscope::bench::run(argv[1], {argv + 2, argv + argc});
  return 0;
}
