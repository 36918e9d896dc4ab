// Measures how many distinct addresses of a library are named in a second: labelscope_symbol_bench
// FILE [COUNT]. Addresses are spread evenly over the executable segment.
#include <elf.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "loaded_module.h"

using namespace labelscope::cli;  // NOLINT(google-build-using-namespace): a program for this
                                  // namespace

int main(int argc, char** argv) {
  if (is_worker(argc, argv)) return worker_main(argv, kWorkerTasks);
  if (argc < 2) {
    std::fprintf(stderr, "usage: labelscope_symbol_bench FILE [COUNT]\n");
    return 2;
  }
  std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 10000;
  Profile profile;
  ProfileModule module;
  module.kind = ProfileModule::Kind::kFile;
  module.path = argv[1];
  ModuleFile file = open_module_file(argv[1]);
  Elf64_Ehdr header;
  if (count == 0 || ::pread(file->get(), &header, sizeof header, 0) != ssize_t{sizeof header})
    return 1;
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    auto offset = static_cast<off_t>(header.e_phoff + sizeof segment * static_cast<unsigned>(i));
    if (::pread(file->get(), &segment, sizeof segment, offset) != ssize_t{sizeof segment}) return 1;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
      start = segment.p_vaddr;
      size = segment.p_memsz;
    }
  }
  profile.modules.push_back(module);
  for (std::uint64_t i = 0; i < count; ++i)
    profile.locations.push_back({0, start + size / count * i, {}});
  auto begin = std::chrono::steady_clock::now();
  {
    FileNamer namer({});
    symbolize(profile, {file}, namer, {});
  }
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  std::size_t named = 0;
  std::size_t lined = 0;
  std::size_t frames = 0;
  for (const Location& location : profile.locations) {
    frames += location.lines.size();
    if (location.lines.empty()) continue;
    if (!location.lines.back().function.empty()) ++named;
    if (location.lines.front().line != 0) ++lined;
  }
  std::printf(
      "%s: %zu addresses in %.3f s, %.0f a second; %zu named, %zu with lines, %zu frames\n%s\n",
      argv[1], profile.locations.size(), taken.count(), static_cast<double>(count) / taken.count(),
      named, lined, frames, profile.modules[0].symbol_problem.c_str());
  rusage own{};
  rusage worker{};
  ::getrusage(RUSAGE_SELF, &own);
  ::getrusage(RUSAGE_CHILDREN, &worker);
  std::printf("peak memory: %ld KiB, and %ld KiB of the worker\n", own.ru_maxrss, worker.ru_maxrss);
  return 0;
}
