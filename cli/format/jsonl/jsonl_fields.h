// The fields of one line of a recording, by name; and a fast reader of sample lines as jsonl.cc
// writes them.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "cli/format/common/json_values.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

// The fields of one line. A missing field is 0 or empty, so that recordings of other versions can
// be read; a field of another type makes the line damaged.
class Fields {
 public:
  // `lost`: so many lines before this could not be read. References to them become kNoIndex.
  explicit Fields(const Json& object, std::uint64_t lost = 0)
      : object_(object), lost_(lost), good_(object.is_object()) {}

  bool good() const { return good_; }
  void spoil() { good_ = false; }
  const Json* find(std::string_view name) {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  std::uint64_t number(std::string_view name) {
    const Json* value = find(name);
    if (value == nullptr) return 0;
    if (!value->is_number_unsigned()) return spoil(), 0;
    return value->get<std::uint64_t>();
  }
  template <class T>
  T small(std::string_view name) {
    const std::uint64_t value = number(name);
    if (value > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return spoil(), T{};
    return static_cast<T>(value);
  }
  bool yes(std::string_view name) {
    const Json* value = find(name);
    if (value == nullptr) return false;
    if (!value->is_boolean()) return spoil(), false;
    return value->get<bool>();
  }
  std::string bytes(std::string_view name) {
    const Json* value = find(name);
    return value == nullptr ? std::string() : bytes_of(*value);
  }
  std::string bytes_of(const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    const auto encoded = value.is_object() ? value.find("base64") : value.end();
    if (!value.is_object() || encoded == value.end() || !encoded->is_string()) return spoil(), "";
    auto decoded = base64_decode(encoded->get_ref<const std::string&>());
    if (!decoded) return spoil(), "";
    return *std::move(decoded);
  }
  Address address(std::string_view name) {
    const std::string text = bytes(name);
    if (text.empty()) return 0;
    Address value = 0;
    const char* end = text.data() + text.size();
    if (!text.starts_with("0x") || std::from_chars(text.data() + 2, end, value, 16).ptr != end) {
      spoil();
    }
    return value;
  }
  // Reads a reference to a table that has `size` entries by now.
  Index reference(std::string_view name, std::size_t size) {
    const Json* value = find(name);
    return value == nullptr || value->is_null() ? kNoIndex : reference_of(*value, size);
  }
  Index reference_of(const Json& value, std::size_t size) {
    const bool number = value.is_number_unsigned();
    if (number && value.get<std::uint64_t>() < size) return value.get<Index>();
    if (!number || value.get<std::uint64_t>() - size >= lost_) spoil();
    return kNoIndex;
  }
  // Calls `use` for each element of an array.
  template <class Use>
  void each(std::string_view name, Use use) {
    const Json* list = find(name);
    if (list == nullptr) return;
    if (!list->is_array()) return spoil();
    for (const Json& element : *list) use(element);
  }

 private:
  const Json& object_;
  std::uint64_t lost_;
  bool good_;
};

// Reads the numbers and references of a sample line, in the order in which they are written.
class SampleText {
 public:
  explicit SampleText(std::string_view line) : rest_(line) {}
  bool skip(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  template <class T>
  bool number(std::string_view name, T& value) {
    if (!skip(name)) return false;
    const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return problem == std::errc();
  }
  bool index(std::string_view name, Index& value) {
    if (!skip(name)) return false;
    if (!skip("null")) return number("", value) && value != kNoIndex;
    value = kNoIndex;
    return true;
  }
  bool done() const { return rest_ == "}"; }

 private:
  std::string_view rest_;
};

}  // namespace labelscope::cli
