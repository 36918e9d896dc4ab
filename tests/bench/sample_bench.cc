// Measures how many samples a second one core can handle, from the ring buffer's bytes to a written
// pprof file, and how long each part takes; then the same through a BPF ring buffer that the kernel
// side fills.
//
//  bench_samples [--samples N] [--benchmark_...]
#include <benchmark/benchmark.h>
#include <bpf/libbpf.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "aims.h"
#include "bpf_bench.h"
#include "runner.h"
#include "sample_path.h"
#include "synthetic_records.h"

namespace labelscope::bench {
namespace {

// Returns the CPU time of this thread, in seconds.
double cpu_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

constexpr double kWantedPerSecond = 1e6;
// Half of what it was by computation: 40 of a row, 17 of its slots in the table, and 40 of its copy
// while it was written.
constexpr double kWantedBytesOfRow = 48;

std::string output_path() {
  const char* folder = std::getenv("TMPDIR");
  return std::string(folder != nullptr ? folder : "/tmp") + "/labelscope-bench-" +
         std::to_string(getpid()) + ".pb.gz";
}

struct Stage {
  const char* name;
  Mix mix;
};
constexpr Stage kStages[] = {
    {"service", Mix::kService}, {"even", Mix::kEven}, {"requests", Mix::kRequests}};

// Fills a path with all samples. Returns false after an error.
bool fill(benchmark::State& state, SyntheticRecords& records, std::size_t samples,
          SamplePath& path) {
  for (std::size_t i = 0; i < samples; ++i) {
    if (!path.add(records.record(i))) {
      state.SkipWithError("a record was refused");
      return false;
    }
  }
  return true;
}

void set_rate(benchmark::State& state, std::size_t samples) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(samples));
}

// Measures decoding and building.
void build(benchmark::State& state, SyntheticRecords& records, std::size_t samples) {
  for (auto _ : state) {
    SamplePath path;
    if (!fill(state, records, samples, path)) return;
    benchmark::DoNotOptimize(path.take());
  }
  set_rate(state, samples);
}

// Measures rendering and writing.
void write(benchmark::State& state, SyntheticRecords& records, std::size_t samples) {
  SamplePath path;
  if (!fill(state, records, samples, path)) return;
  const cli::Profile profile = path.take();
  const std::string file = output_path();
  for (auto _ : state) {
    if (Status status = write_profile(profile, samples, file); !status) {
      state.SkipWithError(status.error().context.c_str());
    }
  }
  unlink(file.c_str());
  set_rate(state, samples);
  state.counters["rows"] = static_cast<double>(profile.rows.size());
}

void whole(benchmark::State& state, SyntheticRecords& records, std::size_t samples) {
  const std::string file = output_path();
  for (auto _ : state) {
    SamplePath path;
    if (!fill(state, records, samples, path)) return;
    if (Status status = write_profile(path.take(), samples, file); !status) {
      state.SkipWithError(status.error().context.c_str());
    }
  }
  unlink(file.c_str());
  set_rate(state, samples);
}

// ---- through the kernel's ring buffer

struct RingFree {
  void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
};

int on_record(void* path, void* bytes, std::size_t size) {
  const std::span<const std::byte> record(static_cast<const std::byte*>(bytes), size);
  return static_cast<SamplePath*>(path)->add(record) ? 0 : -EINVAL;
}

Status load_records(BpfBench& bench) {
  SyntheticRecords records(Mix::kService, BENCH_RECORDS);
  auto record = std::make_unique<bench_record>();
  for (std::uint32_t i = 0; i < BENCH_RECORDS; ++i) {
    auto bytes = records.record(i);
    if (bytes.size() > sizeof record->bytes) return Error{ErrorCode::kLimit, "a record too large"};
    record->size = bytes.size();
    std::memcpy(record->bytes, bytes.data(), bytes.size());
    if (Status status = bench.set_record(i, *record); !status) return status;
  }
  return {};
}

// Only the reading side is timed, in CPU time. The other side belongs to the sampled programs.
void through_ring(benchmark::State& state, BpfBench& bench, std::size_t samples) {
  const std::string file = output_path();
  for (auto _ : state) {
    SamplePath path;
    std::unique_ptr<ring_buffer, RingFree> ring(
        ring_buffer__new(bench.ring_fd(), on_record, &path, nullptr));
    double spent = 0;
    for (std::size_t done = 0; done < samples; done += BENCH_EMITTED) {
      if (Status status = bench.emit(); !status) {
        state.SkipWithError(status.error().context.c_str());
        return;
      }
      const double start = cpu_time();
      const int taken = ring_buffer__consume(ring.get());
      spent += cpu_time() - start;
      if (taken != BENCH_EMITTED) {
        state.SkipWithError("records were lost");
        return;
      }
    }
    const double start = cpu_time();
    const cli::Profile profile = path.take();
    if (Status status = write_profile(profile, profile.ledger.written, file); !status) {
      state.SkipWithError(status.error().context.c_str());
    }
    spent += cpu_time() - start;
    state.SetIterationTime(spent);
  }
  unlink(file.c_str());
  set_rate(state, samples);
}

// ---- memory

// Returns a number of bytes of /proc/self/status, "VmRSS" or "VmHWM".
std::size_t own_memory(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ':')) return 1024 * std::stoul(line.substr(name.size() + 1));
  }
  return 0;
}

// From here on, VmHWM is the most memory since now.
void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

struct Memory {
  std::size_t rows;
  std::size_t built;    // bytes when all samples are in the profile, beside what was there before
  std::size_t written;  // the most while the profile is written
};

Memory measure_memory(std::size_t samples) {
  SyntheticRecords records(Mix::kDistinct, samples);
  for (std::size_t i = 0; i < samples; ++i) records.record(i);  // which changes them
  // What a profile takes without rows is there before they are counted.
  constexpr std::size_t kOfLittle = 1000;
  SamplePath little;
  for (std::size_t i = 0; i < kOfLittle; ++i) little.add(records.record(i));
  const std::string file = output_path();
  if (!write_profile(little.take(), kOfLittle, file)) return {};
  malloc_trim(0);
  const std::size_t before = own_memory("VmRSS");
  SamplePath path;
  for (std::size_t i = 0; i < samples; ++i) path.add(records.record(i));
  Memory memory{};
  memory.built = own_memory("VmRSS") - before;
  const cli::Profile profile = path.take();
  memory.rows = profile.rows.size();
  forget_peak();
  const Status status = write_profile(profile, samples, file);
  memory.written = own_memory("VmHWM") - before;
  unlink(file.c_str());
  return status ? memory : Memory{};
}

// This is done in a process of its own, whose memory nothing else has used before.
void report_memory(std::size_t samples) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const Memory memory = measure_memory(samples);
    if (memory.rows == 0) _exit(1);
    const auto each = [&](std::size_t bytes) {
      return static_cast<double>(bytes) / static_cast<double>(memory.rows);
    };
    std::printf("\n%zu distinct rows: %.1f bytes each when built\n", memory.rows,
                each(memory.built));
    report_aim("bytes of memory for each distinct row, at most at once",
               each(std::max(memory.built, memory.written)), Bound::kAtMost, kWantedBytesOfRow);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
    std::printf("the memory of rows could not be measured\n");
  }
}

void run(std::size_t samples) {
  auto add = [&](const std::string& name, const Stage& stage, auto measure) {
    benchmark::RegisterBenchmark((name + ", " + stage.name).c_str(),
                                 [measure, stage, samples](benchmark::State& state) {
                                   SyntheticRecords records(stage.mix, samples);
                                   measure(state, records, samples);
                                 })
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  };
  for (const Stage& stage : kStages) {
    add("decode and build", stage, build);
    add("render and write", stage, write);
    add("all", stage, whole);
  }
  report_memory(samples);
  auto bench = BpfBench::open();
  std::optional<std::string> no_ring;
  if (!bench) {
    no_ring = bench.error().context;
  } else if (Status status = load_records(*bench); !status) {
    no_ring = status.error().context;
  }
  const std::size_t emitted = (samples + BENCH_EMITTED - 1) / BENCH_EMITTED * BENCH_EMITTED;
  if (!no_ring) {
    benchmark::RegisterBenchmark(
        "all through a BPF ring buffer, service",
        [&](benchmark::State& state) { through_ring(state, *bench, emitted); })
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime();
  }
  const Medians medians = run_all();
  std::printf("\n");
  auto report = [&](const std::string& name, std::size_t count, double seconds) {
    report_aim("samples a second of CPU, " + name, static_cast<double>(count) / seconds,
               Bound::kAtLeast, kWantedPerSecond);
  };
  for (const Stage& stage : kStages) {
    const std::string name = std::string("all, ") + stage.name;
    report(name, samples, medians.cpu_seconds(name));
  }
  if (no_ring) {
    std::printf("not through a BPF ring buffer: %s\n", no_ring->c_str());
  } else {
    const std::string name = "all through a BPF ring buffer, service";
    report(name, emitted, medians.seconds(name));
  }
}

}  // namespace
}  // namespace labelscope::bench

int main(int argc, char** argv) {
  std::size_t samples = 1000000;
  labelscope::bench::initialize(argc, argv, 5);
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view(argv[i]) == "--samples") samples = std::strtoul(argv[i + 1], nullptr, 10);
  }
  labelscope::bench::run(samples);
  return 0;
}
