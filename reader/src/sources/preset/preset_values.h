// How numbers of a preset are read, and compared: the steps between the pointers to a structure
// (preset_places.h) and the labels (preset_compile.h). What is known without reading becomes no
// step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "sources/preset/preset_places.h"

namespace labelscope {

// A number, in a slot or known.
struct PresetValue {
  bool is_known = false;
  std::uint64_t number = 0;
  unsigned slot = 0;
  bool is_signed = false;
};

class PresetValues : protected PresetPlaces {
 protected:
  using PresetPlaces::PresetPlaces;

  Result<PresetValue> evaluate_number(const PresetExpression& expression, unsigned slot,
                                      const Guards& guards);
  Result<PresetValue> read_number(const Place& from, const VariableType& type, unsigned slot,
                                  const Guards& guards);
  // Fails if an accessor leads to something else than a value of this size.
  static Status check_result(const Place& from, unsigned size);

  // Adds the step that compares, or returns what is known without one.
  struct Compared {
    std::optional<bool> known{};
    std::size_t step = 0;
  };
  Result<Compared> compare(const PresetCondition& condition, unsigned op, const Guards& guards);
  // Returns whether the condition holds, if that is known of all processes of the variant.
  Result<std::optional<bool>> known_without_reading(const PresetCondition& condition);

  bool checks_thread_ = false;
};

}  // namespace labelscope
