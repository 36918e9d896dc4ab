// Reads messages of Protocol Buffers from the other side, field by field.
//
// protozero asserts that a field has the type that it is read as. But the sender decides that, and
// an assertion would end labelscope: so the type is checked first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <protozero/exception.hpp>
#include <protozero/pbf_message.hpp>
#include <string>
#include <string_view>

#include "labelscope/result.h"

namespace labelscope::cli {

template <class Tag>
class Field {
 public:
  explicit Field(protozero::pbf_message<Tag>& message) : message_(message) {}
  std::uint64_t number() {
    expect(protozero::pbf_wire_type::varint);
    return message_.get_uint64();
  }
  std::string_view bytes() {
    expect(protozero::pbf_wire_type::length_delimited);
    const protozero::data_view view = message_.get_view();
    return {view.data(), view.size()};
  }
  std::string text(std::size_t most) {
    const std::string_view all = bytes();
    return std::string(all.substr(0, std::min(all.size(), most)));
  }
  auto packed_uint32() {
    expect(protozero::pbf_wire_type::length_delimited);
    return message_.get_packed_uint32();
  }
  auto packed_uint64() {
    expect(protozero::pbf_wire_type::length_delimited);
    return message_.get_packed_uint64();
  }
  auto packed_fixed64() {
    expect(protozero::pbf_wire_type::length_delimited);
    return message_.get_packed_fixed64();
  }

 private:
  void expect(protozero::pbf_wire_type type) const {
    if (message_.wire_type() != type) throw protozero::unknown_pbf_wire_type_exception();
  }

  protozero::pbf_message<Tag>& message_;
};

// protozero throws if the bytes are no message; this turns it into an error.
template <class Tag, class Take>
Status read_fields(std::string_view body, Take take) {
  try {
    protozero::pbf_message<Tag> message(body.data(), body.size());
    while (message.next()) take(message);
    return {};
  } catch (const protozero::exception&) {
    return Error{ErrorCode::kMalformed, "it sends bytes that are no message"};
  }
}

}  // namespace labelscope::cli
