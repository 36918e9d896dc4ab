// A value is overwritten where readers see it, by a template of the C++ library that is compiled
// into the program: the author's line is the one that calls it.
#include <algorithm>
#include <cstdint>

extern "C" {
#include "customlabels/label_abi.h"
__attribute__((visibility("default"))) extern const std::uint32_t custom_labels_abi_version = 1;
__attribute__((visibility("default"))) __thread custom_labels_labelset_t* custom_labels_current_set;
}

static unsigned char text[24];
static custom_labels_label_t label;
static custom_labels_labelset_t set;

static __attribute__((noinline)) void overwrite(unsigned char letter) {
  std::generate_n(text, sizeof text, [=] { return letter; });  // expect LS050 in overwrite
}

static __attribute__((noinline)) void begin() {
  static const unsigned char kKey[] = {'k'};
  std::fill_n(text, sizeof text, 'a');
  label = {{sizeof kKey, kKey}, {sizeof text, text}};
  set = {&label, 1, 1};
  custom_labels_current_set = &set;
}

int main() {
  begin();
  for (unsigned char letter = 'b'; letter < 'f'; ++letter) overwrite(letter);
  custom_labels_current_set = nullptr;
}
