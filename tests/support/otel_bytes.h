// OpenTelemetry's records and process contexts as bytes, made by hand: records of OTEP 4947,
// messages in protobuf's wire format, and the header of OTEP 4719 in made-up memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/fake_memory.h"

namespace labelscope::test::otel {

// ---- protobuf

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}
inline std::string field(unsigned number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
inline std::string number_field(unsigned number, std::uint64_t value) {
  return varint(number << 3) + varint(value);
}
inline std::string text(std::string_view value) { return field(1, value); }  // an AnyValue
inline std::string array(const std::vector<std::string>& texts) {
  std::string values;
  for (const std::string& each : texts) values += field(1, text(each));
  return field(5, values);
}
inline std::string key_value(std::string_view key, std::string_view any_value) {
  return field(1, key) + field(2, any_value);
}
inline std::string resource(const std::vector<std::string>& key_values) {
  std::string attributes;
  for (const std::string& each : key_values) attributes += field(1, each);
  return field(1, attributes);
}
inline std::string own(std::string_view key_value) { return field(2, key_value); }
inline std::string schema(std::string_view name = "tlsdesc_v1_dev") {
  return key_value("threadlocal.schema_version", text(name));
}
inline std::string key_map(const std::vector<std::string>& keys) {
  return key_value("threadlocal.attribute_key_map", array(keys));
}

// ---- a process context

inline std::string header(std::uint32_t size, Address payload, std::uint64_t published_ns = 7,
                          std::uint32_t version = 2) {
  std::string bytes = "OTEL_CTX";
  const auto append = [&](const auto& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  append(version);
  append(size);
  append(published_ns);
  append(payload);
  return bytes;
}

// ---- a record

struct Record {
  std::string trace = std::string(16, '\x11');
  std::string span = std::string(8, '\x22');
  std::uint8_t valid = 1;
  std::string attributes;
  int size = -1;  // the claimed size; -1 for the true one

  Record& add(std::uint8_t key, std::string_view value) {
    attributes += static_cast<char>(key);
    attributes += static_cast<char>(value.size());
    attributes += value;
    return *this;
  }
  std::string bytes() const {
    const auto claimed =
        static_cast<std::uint16_t>(size < 0 ? static_cast<int>(attributes.size()) : size);
    std::string made = trace + span;
    made += static_cast<char>(valid);
    made += '\x01';
    made += static_cast<char>(claimed & 255);
    made += static_cast<char>(claimed >> 8);
    return made + attributes;
  }
};

}  // namespace labelscope::test::otel
