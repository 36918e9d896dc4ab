// A pprof file decoded by protoc with pprof.proto: a strict decoder that shares no code with ours.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/format/format.h"

namespace labelscope::test {

// One node of protoc's text, which is a tree of fields by name, in the order of the file.
struct TextNode {
  std::string value;  // the value of a scalar; strings are unescaped
  std::multimap<std::string, TextNode> fields;

  std::vector<const TextNode*> all(const std::string& name) const;
  // Returns 0 where the field is missing, as in proto3.
  std::uint64_t number(const std::string& name) const;
};

struct DecodedLabel {
  std::string text;  // empty for a number
  std::int64_t number = 0;
  std::string unit;
};

struct DecodedSample {
  std::vector<std::string> frames;  // leaf first, inlined ones apart; "0x..." without a name
  std::vector<std::int64_t> values;
  std::map<std::string, DecodedLabel> labels;

  std::string text(const std::string& key) const;  // "(missing)" where there is no such label
  std::string stack() const;                       // frames joined with '|'
};

struct DecodedPprof {
  TextNode root;
  std::vector<std::string> strings;
  std::vector<DecodedSample> samples;
  const std::string& string_of(const TextNode& node, const std::string& field) const;
  // Returns the only sample. Fails the test if there are more or none.
  const DecodedSample& only() const;
};

std::string gunzip(const std::string& bytes);
// Returns false if protoc refuses the message; otherwise its text is in `text`.
bool protoc_decode(const std::string& message, std::string& text);

// Renders, decompresses and decodes. Skips the test without protoc. Fails it if the file is
// refused, has a field that the format does not know, an index outside its table, or a key twice in
// one sample.
DecodedPprof decode_rendered(const cli::Profile& profile, const cli::RenderOptions& options = {});

}  // namespace labelscope::test
