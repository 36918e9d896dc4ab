// A program whose labels change in all ways in which a set can, between waits of one thread.
//
//   changed_labels LEAD_MS       first it waits so long with `tenant=lead`
//
// Set, elements and text stay where they are, and are written over; others are elsewhere. At the
// end the program prints a line of JSON: how often it has waited under each value of `tenant`
// ("none": without labels), by the kernel's count of its voluntary switches. (A sleep whose timer
// runs out before the thread has left its processor is no wait.)
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>

#include "customlabels/label_abi.h"

extern "C" {
extern const std::uint32_t custom_labels_abi_version;
const std::uint32_t custom_labels_abi_version = CUSTOM_LABELS_ABI_VERSION;
extern __thread const custom_labels_labelset_t* custom_labels_current_set;
__thread const custom_labels_labelset_t* custom_labels_current_set;
}

namespace {

std::map<std::string, long> waits;

long switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

custom_labels_string_t text(const char* bytes) {
  return {std::strlen(bytes), reinterpret_cast<const unsigned char*>(bytes)};
}

// A set of its own place, with its elements and the text of the first value.
struct Place {
  char value[64] = {};
  custom_labels_label_t elements[3] = {
      {text("tenant"), {}}, {text("zone"), text("north")}, {text("kind"), text("batch")}};
  custom_labels_labelset_t set = {elements, 1, 3};

  void write(const std::string& tenant, std::size_t count = 1) {
    tenant.copy(value, sizeof value);
    elements[0].value = {tenant.size(), reinterpret_cast<const unsigned char*>(value)};
    set.count = count;
  }
};

void sleep_under(const std::string& tenant, int times = 1) {
  const long before = switches();
  for (int i = 0; i < times; ++i) {
    const timespec time{0, 50'000};
    nanosleep(&time, nullptr);
  }
  waits[tenant] += switches() - before;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  static Place one, other;
  one.write("lead");
  custom_labels_current_set = &one.set;
  for (int ms = std::atoi(arguments[1]); ms > 0; --ms) {
    const timespec time{0, 1'000'000};
    nanosleep(&time, nullptr);
  }
  // The same labels for long, written over by others of the same length.
  for (const char* tenant : {"acme", "bolt", "acme", "core"}) {
    one.write(tenant);
    sleep_under(tenant, 200);
  }
  // Others at each wait, in the same place.
  for (int i = 0; i < 1000; ++i) {
    const std::string tenant = "turn-" + std::to_string(i % 7);
    one.write(tenant);
    sleep_under(tenant);
  }
  // A longer value that begins as the one before; more elements, whose bytes were there already.
  one.write("long");
  sleep_under("long", 50);
  one.write("longer");
  sleep_under("longer", 50);
  one.write("longer", 3);
  sleep_under("longer", 50);
  // Another place with the same labels, and with others; and no labels.
  for (int i = 0; i < 60; ++i) {
    other.write(i % 2 != 0 ? "other" : "longer", 3);
    custom_labels_current_set = &other.set;
    sleep_under(i % 2 != 0 ? "other" : "longer");
    custom_labels_current_set = nullptr;
    sleep_under("none");
    custom_labels_current_set = &one.set;
    sleep_under("longer");
  }
  one.write("end");
  const char* separator = "{";
  for (const auto& [tenant, times] : waits) {
    std::printf("%s\"%s\":%ld", separator, tenant.c_str(), times);
    separator = ",";
  }
  std::puts("}");
  return 0;
}
