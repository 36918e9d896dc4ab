// Tests when a label set is read again. This process watches its own memory.
#include "cli/step/label_watch.h"

#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "customlabels/label_abi.h"
#include "labelscope/target.h"
#include "support/catch.h"

namespace labelscope::cli {
namespace {

Address address_of(const void* place) { return reinterpret_cast<Address>(place); }

// A set whose labels are so far apart that no two are read as one piece.
class ScatteredSet {
 public:
  explicit ScatteredSet(std::size_t count) : bytes_(count * kApart), elements_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::string key = std::to_string(100'000 + i);
      std::memcpy(place(i), key.data(), key.size());
      std::memcpy(place(i) + kKeyBytes, "old", kValueBytes);
      elements_[i] = {{key.size(), place(i)}, {kValueBytes, place(i) + kKeyBytes}};
    }
    set_ = {elements_.data(), count, count};
    variable_ = &set_;
  }
  Address variable() const { return address_of(&variable_); }
  void change(std::size_t i) { std::memcpy(place(i) + kKeyBytes, "new", kValueBytes); }

 private:
  static constexpr std::size_t kApart = 128;
  static constexpr std::size_t kKeyBytes = 6;
  static constexpr std::size_t kValueBytes = 3;
  unsigned char* place(std::size_t i) { return bytes_.data() + i * kApart; }

  std::vector<unsigned char> bytes_;
  std::vector<custom_labels_label_t> elements_;
  custom_labels_labelset_t set_{};
  custom_labels_labelset_t* variable_ = nullptr;
};

}  // namespace

TEST_CASE("label_watch: of a set in thousands of pieces each is watched") {
  skip_in_user_mode_emulation();
  const std::size_t count = kMaxCheckedElements;
  ScatteredSet set(count);
  const Pid self{::getpid()};
  const auto process = LiveProcess::open(self);
  REQUIRE(process);
  LabelWatch watch(self, (*process)->memory(), set.variable(),
                   *find_source(LS_SOURCE_CUSTOM_LABELS), [] { return nullptr; });
  REQUIRE(watch.seen().set.labels.size() == count);
  REQUIRE(watch.seen().ranges.size() > count);
  CHECK_FALSE(watch.look(false));
  for (const std::size_t i : {std::size_t{0}, std::size_t{1023}, std::size_t{1024}, count - 1}) {
    INFO(i);
    set.change(i);
    CHECK(watch.look(false));
    CHECK_FALSE(watch.published());
    CHECK(watch.seen().set.labels[i].value == "new");
    CHECK(watch.before().set.labels[i].value == "old");
    CHECK_FALSE(watch.look(false));
  }
}

}  // namespace labelscope::cli
