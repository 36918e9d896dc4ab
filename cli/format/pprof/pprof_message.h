// Reads a protobuf message of unknown origin, field by field. protozero reports damage by
// exceptions and leaves wire types to its caller; here both make the rest of one message
// unreadable.
#pragma once

#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string_view>

namespace labelscope::cli {

class PprofField {
 public:
  explicit PprofField(protozero::pbf_reader& reader) : reader_(reader) {}

  template <class Tag>
  bool is(Tag tag) const {
    return reader_.tag() == static_cast<protozero::pbf_tag_type>(tag);
  }
  // A field whose wire type is not the expected one is damage.
  std::uint64_t number() {
    want(protozero::pbf_wire_type::varint);
    return reader_.get_uint64();
  }
  std::int64_t signed_number() { return static_cast<std::int64_t>(number()); }
  std::string_view bytes() {
    want(protozero::pbf_wire_type::length_delimited);
    const protozero::data_view view = reader_.get_view();
    return {view.data(), view.size()};
  }
  // Reads a repeated number: packed, or as several fields.
  template <class Use>
  void numbers(Use use) {
    if (reader_.wire_type() == protozero::pbf_wire_type::varint) return use(reader_.get_uint64());
    want(protozero::pbf_wire_type::length_delimited);
    for (const std::uint64_t each : reader_.get_packed_uint64()) use(each);
  }
  void skip() { reader_.skip(); }

 private:
  void want(protozero::pbf_wire_type type) const {
    if (reader_.wire_type() != type) throw protozero::unknown_pbf_wire_type_exception();
  }

  protozero::pbf_reader& reader_;
};

// Calls `use` for each field, which must take it or skip it. Returns false if the message cannot be
// read to its end.
template <class Use>
bool for_fields(std::string_view message, Use use) {
  try {
    protozero::pbf_reader reader(message.data(), message.size());
    while (reader.next()) use(PprofField(reader));
    return true;
  } catch (const protozero::exception&) {
    return false;
  }
}

}  // namespace labelscope::cli
