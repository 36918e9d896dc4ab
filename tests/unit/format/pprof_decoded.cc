#include "unit/format/pprof_decoded.h"

#include <zlib.h>

#include <array>
#include <cctype>
#include <sstream>
#include <string_view>

#include "support/catch.h"
#include "support/paths.h"
#include "unit/format/profile_maker.h"
#include "unit/format/run_program.h"

namespace labelscope::test {
namespace {

// Resolves C escapes as protoc prints them:
// , \", \\ and three octal digits.
std::string unescape(std::string_view quoted) {
  std::string out;
  for (std::size_t i = 1; i + 1 < quoted.size(); ++i) {
    if (quoted[i] != '\\') {
      out += quoted[i];
      continue;
    }
    const char kind = quoted[++i];
    if (kind >= '0' && kind <= '3') {
      out += static_cast<char>(std::stoi(std::string(quoted.substr(i, 3)), nullptr, 8));
      i += 2;
    } else if (const auto at = std::string_view("nrt").find(kind); at != std::string_view::npos) {
      out += "\n\r\t"[at];
    } else {
      out += kind;
    }
  }
  return out;
}

TextNode parse_message(std::istream& lines) {
  TextNode message;
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (line == "}") break;
    const std::size_t end = line.find_first_of(": ");
    const std::string name = line.substr(0, end);
    INFO("field " << name);
    // protoc prints a field that pprof.proto does not know by its number.
    REQUIRE_FALSE(std::isdigit(static_cast<unsigned char>(name[0])));
    if (line.ends_with(" {")) {
      message.fields.emplace(name, parse_message(lines));
    } else {
      const std::string value = line.substr(end + 2);
      message.fields.emplace(name, TextNode{value[0] == '"' ? unescape(value) : value, {}});
    }
  }
  return message;
}

using ById = std::map<std::uint64_t, const TextNode*>;

ById by_id(const TextNode& root, const std::string& table) {
  ById entries;
  for (const TextNode* entry : root.all(table)) {
    REQUIRE(entry->number("id") != 0);
    REQUIRE(entries.emplace(entry->number("id"), entry).second);
  }
  return entries;
}

const TextNode& at(const ById& table, std::uint64_t id) {
  REQUIRE(table.count(id) == 1);
  return *table.at(id);
}

void add_frames(DecodedSample& sample, const DecodedPprof& pprof, const TextNode& location,
                const ById& functions) {
  for (const TextNode* line : location.all("line")) {
    sample.frames.push_back(pprof.string_of(at(functions, line->number("function_id")), "name"));
  }
  if (location.all("line").empty()) {
    std::ostringstream address;
    address << "0x" << std::hex << location.number("address");
    sample.frames.push_back(address.str());
  }
}

void add_labels(DecodedSample& sample, const DecodedPprof& pprof, const TextNode& node) {
  for (const TextNode* label : node.all("label")) {
    DecodedLabel decoded{pprof.string_of(*label, "str"),
                         static_cast<std::int64_t>(label->number("num")),
                         pprof.string_of(*label, "num_unit")};
    const std::string& key = pprof.string_of(*label, "key");
    INFO("key " << key);
    REQUIRE_FALSE(key.empty());
    // pprof drops a label that has neither.
    REQUIRE((!decoded.text.empty() || decoded.number != 0 || !decoded.unit.empty()));
    REQUIRE(sample.labels.emplace(key, decoded).second);
  }
}

}  // namespace

std::vector<const TextNode*> TextNode::all(const std::string& name) const {
  std::vector<const TextNode*> found;
  const auto [begin, end] = fields.equal_range(name);
  for (auto field = begin; field != end; ++field) found.push_back(&field->second);
  return found;
}

std::uint64_t TextNode::number(const std::string& name) const {
  const auto found = all(name);
  if (found.empty()) return 0;
  const std::string& text = found.back()->value;
  return text[0] == '-' ? static_cast<std::uint64_t>(std::stoll(text)) : std::stoull(text);
}

std::string DecodedSample::text(const std::string& key) const {
  const auto found = labels.find(key);
  return found == labels.end() ? "(missing)" : found->second.text;
}

std::string DecodedSample::stack() const {
  std::string joined;
  for (const std::string& frame : frames) joined += (joined.empty() ? "" : "|") + frame;
  return joined;
}

const std::string& DecodedPprof::string_of(const TextNode& node, const std::string& field) const {
  const std::uint64_t index = node.number(field);
  REQUIRE(index < strings.size());
  return strings[index];
}

const DecodedSample& DecodedPprof::only() const {
  REQUIRE(samples.size() == 1);
  return samples[0];
}

std::string gunzip(const std::string& bytes) {
  z_stream zlib{};
  REQUIRE(inflateInit2(&zlib, 15 + 16) == Z_OK);
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  zlib.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  std::array<char, 65536> piece{};
  int result = Z_OK;
  while (result == Z_OK) {
    zlib.next_out = reinterpret_cast<Bytef*>(piece.data());
    zlib.avail_out = piece.size();
    result = inflate(&zlib, Z_NO_FLUSH);
    out.append(piece.data(), piece.size() - zlib.avail_out);
  }
  inflateEnd(&zlib);
  REQUIRE(result == Z_STREAM_END);
  REQUIRE(zlib.avail_in == 0);
  return out;
}

bool protoc_decode(const std::string& message, std::string& text) {
  const std::string protoc = require_program("protoc");
  ProgramResult result =
      run_program({protoc, "--decode=labelscope.test.Profile",
                   std::string("--proto_path=") + paths::kPprofProto, "pprof.proto"},
                  message);
  UNSCOPED_INFO("protoc: " << result.err);
  text = std::move(result.out);
  return result.exit_status == 0;
}

DecodedPprof decode_rendered(const cli::Profile& profile, const cli::RenderOptions& options) {
  std::ostringstream rendered;
  REQUIRE(
      cli::render_pprof(test::weighed(profile, profile.period_ns), options, rendered).has_value());
  std::string text;
  REQUIRE(protoc_decode(gunzip(rendered.str()), text));
  std::istringstream lines(text);
  DecodedPprof pprof;
  pprof.root = parse_message(lines);
  for (const TextNode* string : pprof.root.all("string_table")) {
    pprof.strings.push_back(string->value);
  }
  REQUIRE_FALSE(pprof.strings.empty());
  REQUIRE(pprof.strings[0].empty());

  const ById locations = by_id(pprof.root, "location");
  const ById functions = by_id(pprof.root, "function");
  const ById mappings = by_id(pprof.root, "mapping");
  for (const auto& [id, location] : locations) {
    if (location->number("mapping_id") != 0) at(mappings, location->number("mapping_id"));
  }
  for (const TextNode* node : pprof.root.all("sample")) {
    DecodedSample sample;
    for (const TextNode* id : node->all("location_id")) {
      add_frames(sample, pprof, at(locations, std::stoull(id->value)), functions);
    }
    for (const TextNode* value : node->all("value")) {
      sample.values.push_back(std::stoll(value->value));
    }
    REQUIRE(sample.values.size() == pprof.root.all("sample_type").size());
    add_labels(sample, pprof, *node);
    pprof.samples.push_back(std::move(sample));
  }
  return pprof;
}

}  // namespace labelscope::test
