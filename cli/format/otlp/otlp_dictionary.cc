#include "cli/format/otlp/otlp_dictionary.h"

#include <protozero/pbf_builder.hpp>
#include <utility>

#include "cli/format/common/frame_tree.h"
#include "cli/format/otlp/otlp_parts.h"
#include "cli/text/escape.h"

namespace labelscope::cli {
namespace {

using protozero::pbf_builder;

// Attributes of mappings and locations, by OpenTelemetry's semantic conventions.
constexpr std::string_view kBuildId = "process.executable.build_id.gnu";
constexpr std::string_view kFrameType = "profile.frame.type";

template <class Field>
void add_index(pbf_builder<Field>& message, Field field, OtlpTable::Number number) {
  if (number != 0) message.add_int32(field, static_cast<std::int32_t>(number));
}

std::string attribute_message(OtlpTable::Number key, const std::string& any_value) {
  std::string message;
  pbf_builder<otlp::Attribute> builder(message);
  add_index(builder, otlp::Attribute::kKey, key);
  builder.add_message(otlp::Attribute::kValue, any_value);
  return message;
}

}  // namespace

OtlpTable::Number OtlpTable::number(std::string entry) {
  const auto next = static_cast<Number>(in_order_.size());
  auto [known, added] = numbers_.try_emplace(std::move(entry), next);
  if (added) in_order_.push_back(&known->first);
  return known->second;
}

OtlpDictionary::OtlpDictionary(const Profile& profile)
    : profile_(profile), known_locations_(profile.locations.size()) {}

std::string OtlpDictionary::text(std::string_view bytes) { return escape_terminal(bytes); }

OtlpTable::Number OtlpDictionary::attribute(std::string_view key, std::string_view value) {
  std::string any;
  pbf_builder<otlp::AnyValue>(any).add_string(otlp::AnyValue::kString, text(value));
  return attributes_.number(attribute_message(string(key), any));
}

OtlpTable::Number OtlpDictionary::attribute(std::string_view key, std::int64_t value) {
  std::string any;
  pbf_builder<otlp::AnyValue>(any).add_int64(otlp::AnyValue::kInt, value);
  return attributes_.number(attribute_message(string(key), any));
}

OtlpTable::Number OtlpDictionary::link(const std::string& trace_id, const std::string& span_id) {
  std::string message;
  pbf_builder<otlp::Link> builder(message);
  builder.add_bytes(otlp::Link::kTraceId, trace_id);
  builder.add_bytes(otlp::Link::kSpanId, span_id);
  return links_.number(std::move(message));
}

OtlpTable::Number OtlpDictionary::function(std::string_view name, std::string_view system_name,
                                           std::string_view file) {
  std::string message;
  pbf_builder<otlp::Function> builder(message);
  add_index(builder, otlp::Function::kName, string(name));
  add_index(builder, otlp::Function::kSystemName, string(system_name));
  add_index(builder, otlp::Function::kFilename, string(file));
  return functions_.number(std::move(message));
}

OtlpTable::Number OtlpDictionary::mapping(Index index) {
  const ProfileModule& module = profile_.modules[index];
  std::string message;
  pbf_builder<otlp::Mapping> builder(message);
  // Either both are 0, or they are a range.
  if (module.start < module.end) {
    builder.add_uint64(otlp::Mapping::kMemoryStart, module.start);
    builder.add_uint64(otlp::Mapping::kMemoryLimit, module.end);
  }
  if (module.file_offset != 0) builder.add_uint64(otlp::Mapping::kFileOffset, module.file_offset);
  add_index(builder, otlp::Mapping::kFilename, string(module.path));
  if (!module.build_id.empty()) {
    const std::int32_t build_id[] = {
        static_cast<std::int32_t>(attribute(kBuildId, module.build_id))};
    builder.add_packed_int32(otlp::Mapping::kAttributes, std::begin(build_id), std::end(build_id));
  }
  return mappings_.number(std::move(message));
}

OtlpTable::Number OtlpDictionary::location(Index index) {
  Number& known = known_locations_[index];
  if (known != 0) return known;
  const Location& location = profile_.locations[index];
  std::string message;
  pbf_builder<otlp::Location> builder(message);
  bool in_kernel = false;
  if (location.module != kNoIndex) {
    in_kernel = profile_.modules[location.module].kind == ProfileModule::Kind::kKernel;
    add_index(builder, otlp::Location::kMapping, mapping(location.module));
  }
  builder.add_uint64(otlp::Location::kAddress, location.address);
  const auto add_line = [&](Number function, int number) {
    std::string line;
    pbf_builder<otlp::Line> line_builder(line);
    add_index(line_builder, otlp::Line::kFunction, function);
    if (number > 0) line_builder.add_int64(otlp::Line::kLine, number);
    builder.add_message(otlp::Location::kLines, line);
  };
  bool named = false;
  for (const SourceLine& line : location.lines) {
    const std::string& name = line.function.empty() ? line.system_name : line.function;
    if (name.empty()) continue;
    named = true;
    add_line(function(name, line.system_name, line.file), line.line);
  }
  if (!named) add_line(function(unnamed_frame(profile_, location), {}, {}), 0);
  const std::int32_t type[] = {
      static_cast<std::int32_t>(attribute(kFrameType, in_kernel ? "kernel" : "native"))};
  builder.add_packed_int32(otlp::Location::kAttributes, std::begin(type), std::end(type));
  return known = locations_.number(std::move(message));
}

OtlpTable::Number OtlpDictionary::location(std::string_view name) {
  std::string line;
  pbf_builder<otlp::Line> line_builder(line);
  add_index(line_builder, otlp::Line::kFunction, function(name, {}, {}));
  std::string message;
  pbf_builder<otlp::Location>(message).add_message(otlp::Location::kLines, line);
  return locations_.number(std::move(message));
}

OtlpTable::Number OtlpDictionary::stack(const std::vector<Number>& leaf_first) {
  std::string message;
  pbf_builder<otlp::Stack>(message).add_packed_int32(otlp::Stack::kLocations, leaf_first.begin(),
                                                     leaf_first.end());
  return stacks_.number(std::move(message));
}

std::string OtlpDictionary::encode() const {
  std::string bytes;
  pbf_builder<otlp::Dictionary> builder(bytes);
  const std::pair<otlp::Dictionary, const OtlpTable*> tables[] = {
      {otlp::Dictionary::kMappings, &mappings_},   {otlp::Dictionary::kLocations, &locations_},
      {otlp::Dictionary::kFunctions, &functions_}, {otlp::Dictionary::kLinks, &links_},
      {otlp::Dictionary::kStrings, &strings_},     {otlp::Dictionary::kAttributes, &attributes_},
      {otlp::Dictionary::kStacks, &stacks_}};
  for (const auto& [field, table] : tables) {
    for (const std::string* entry : table->in_order()) builder.add_bytes(field, *entry);
  }
  return bytes;
}

}  // namespace labelscope::cli
