// Does a piece of work N times, so that a tool can count the processor's instructions
// (stable_costs.py). What the work needs at its start and its end does not depend on N, so the
// difference of two runs is that of the work alone.
//
//  bench_counted_work WORK N
//  bench_counted_work                     prints the names, one on each line
//  bench_counted_work --record-bytes      prints the size of a sample's record
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "customlabels/customlabels.h"
#include "customlabels/labels.hpp"
#include "sample_path.h"
#include "synthetic_records.h"

namespace labelscope::bench {
namespace {

// ---- a sample on its way from the ring buffer's bytes to a pprof file

template <Mix mix>
bool samples(std::size_t count) {
  SyntheticRecords records(mix, count);
  SamplePath path;
  for (std::size_t i = 0; i < count; ++i) {
    if (!path.add(records.record(i))) return false;
  }
  return bool{write_profile(path.take(), count, "/dev/null")};
}

// What the records themselves take is a part of the work above.
template <Mix mix>
bool records_alone(std::size_t count) {
  SyntheticRecords records(mix, count);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += records.record(i).size();
  return bytes != 0;
}

// ---- calls of the writer, with texts of 24 bytes

constexpr std::string_view kValues[] = {"value 0.................", "value 1.................",
                                        "value 2.................", "value 3................."};
std::string key(std::size_t number) {
  std::string text = "key " + std::to_string(number);
  text.resize(kValues[0].size(), '.');
  return text;
}

custom_labels_string_t raw(std::string_view text) {
  return {text.size(), reinterpret_cast<const unsigned char*>(text.data())};
}

template <std::size_t labels>
bool thread_value(std::size_t count) {
  for (std::size_t i = 0; i < labels; ++i) customlabels::set(key(i), kValues[0]);
  const std::string changed = key(0);
  for (std::size_t i = 0; i < count; ++i) customlabels::set(changed, kValues[i % 4]);
  customlabels::clear();
  return true;
}

// `Call` gets the installed set and the number of the call.
template <std::size_t labels, class Call>
bool with_installed(std::size_t count, const Call& call) {
  custom_labels_labelset_t* set = custom_labels_new(labels);
  for (std::size_t i = 0; i < labels; ++i) {
    const std::string name = key(i);
    custom_labels_set(set, raw(name), raw(kValues[0]), nullptr);
  }
  custom_labels_replace(set);
  for (std::size_t i = 0; i < count; ++i) call(set, i);
  custom_labels_replace(nullptr);
  custom_labels_free(set);
  return true;
}

template <std::size_t labels>
bool set_value(std::size_t count) {
  const std::string changed = key(0);
  return with_installed<labels>(count, [&](custom_labels_labelset_t* set, std::size_t i) {
    custom_labels_set(set, raw(changed), raw(kValues[i % 4]), nullptr);
  });
}

bool scope_of_two(std::size_t count) {
  const std::string keys[] = {key(100), key(101)};
  return with_installed<8>(count, [&](custom_labels_labelset_t* set, std::size_t) {
    custom_labels_label_t labels[] = {{raw(keys[0]), raw(kValues[0])},
                                      {raw(keys[1]), raw(kValues[1])}};
    void* result = nullptr;
    custom_labels_run_with(
        set, labels, 2, [](void* argument) { return argument; }, nullptr, &result);
  });
}

bool install(std::size_t count) {
  return with_installed<8>(
      count, [](custom_labels_labelset_t* set, std::size_t) { custom_labels_replace(set); });
}

struct Work {
  const char* name;
  bool (*run)(std::size_t count);
};
constexpr Work kAll[] = {
    {"sample, service", samples<Mix::kService>},
    {"sample, even", samples<Mix::kEven>},
    {"sample, requests", samples<Mix::kRequests>},
    {"record alone", records_alone<Mix::kService>},
    {"thread API, one value of 1", thread_value<1>},
    {"thread API, one value of 8", thread_value<8>},
    {"set API, one value of 1", set_value<1>},
    {"set API, one value of 8", set_value<8>},
    {"set API, run_with of 2 on 8", scope_of_two},
    {"set API, install", install},
};

}  // namespace
}  // namespace labelscope::bench

int main(int argc, char** argv) {
  using labelscope::bench::kAll;
  if (argc == 1) {
    for (const auto& work : kAll) std::puts(work.name);
    return 0;
  }
  if (argc == 2 && argv[1] == std::string_view("--record-bytes")) {
    using namespace labelscope::bench;
    std::printf("%zu\n", SyntheticRecords(Mix::kService, 1).record(0).size());
    return 0;
  }
  for (const auto& work : kAll) {
    if (argc == 3 && argv[1] == std::string_view(work.name)) {
      if (work.run(std::strtoul(argv[2], nullptr, 10))) return 0;
      std::fprintf(stderr, "bench_counted_work: %s failed\n", work.name);
      return 1;
    }
  }
  std::fprintf(stderr, "usage: bench_counted_work [WORK N | --record-bytes]\n");
  return 2;
}
