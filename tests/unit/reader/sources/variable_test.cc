// Tests variables that the user names: how they are written, and how their values are found in
// made-up memory.
#include <limits>

#include "labelscope/explain.h"
#include "labelscope/observe.h"
#include "labelscope/process_facts.h"
#include "labelscope/variable_spec.h"
#include "sources/label_source.h"
#include "support/catch.h"
#include "support/fake_memory.h"

namespace labelscope::test {
namespace {

constexpr Address kTp = 0x7000'1000;
constexpr Address kVariable = kTp - 64;
constexpr Address kObject = 0x5000'0000;
constexpr Address kText = 0x6000'0000;
const ProcessFacts& facts() {
  static const ProcessFacts named = [] {
    ProcessFacts made;
    made.variable_keys = {"zero", "key"};
    return made;
  }();
  return named;
}

VariableSpec spec_of(const std::string& text) {
  auto parsed = parse_variable_spec(text);
  if (!parsed) FAIL(text << ": " << parsed.error().context);
  return *std::move(parsed);
}

std::string refusal_of(const std::string& text) {
  auto parsed = parse_variable_spec(text);
  if (parsed) FAIL(text << " is taken");
  return parsed.error().context;
}

ls_tls_recipe recipe_of(const std::string& text) {
  ls_variable walk = spec_of(text).walk;
  walk.index = 1;
  ls_tls_recipe recipe{};
  recipe.kind = LS_TP_OFFSET;
  recipe.offset = -64;
  recipe.source = LS_SOURCE_VARIABLE;
  std::memcpy(recipe.parameters, &walk, sizeof walk);
  return recipe;
}

Observation observed(const std::string& text, const FakeMemory& memory) {
  const ls_tls_recipe recipe = recipe_of(text);
  return observe({&recipe, 1}, {kTp, Tid{}, nullptr, &facts()}, memory);
}

// Returns the value of a label, or the outcome without one.
std::string shown(const std::string& text, const FakeMemory& memory) {
  const Observation seen = observed(text, memory);
  if (seen.outcome != LS_LABELLED) return std::string(outcome_name(seen.outcome));
  REQUIRE(seen.labels.size() == 1);
  CHECK(seen.labels[0].key == "key");
  return "=" + seen.labels[0].value;
}

template <class T>
std::string shown_of(const std::string& type, T value) {
  FakeMemory memory;
  memory.put(kVariable, value);
  return shown("x:" + type, memory);
}

}  // namespace

TEST_CASE("variable_spec: what a shell has left of an arrow is distinguished from a missing type") {
  CHECK(refusal_of("request-").find("into quotes") != std::string::npos);
  CHECK(refusal_of("lib.so:request+8-").find("into quotes") != std::string::npos);
  CHECK(refusal_of("request").find("into quotes") == std::string::npos);
}

TEST_CASE("variable_spec: module, symbol, way, type and key") {
  VariableSpec spec = spec_of("libstdc++.so.6:current+8->->+0x10:cstr=user:name=x");
  CHECK(spec.module == "libstdc++.so.6");
  CHECK(spec.symbol == "current");
  CHECK(spec.text == "current+8->->+0x10:cstr");
  CHECK(spec.key == "user:name=x");
  CHECK(spec.walk.kind == LS_VARIABLE_CSTRING);
  CHECK(spec.walk.hops == 2);
  CHECK(spec.walk.offset[0] == 8);
  CHECK(spec.walk.offset[1] == 0);
  CHECK(spec.walk.offset[2] == 16);
  spec = spec_of("request_id:u64");
  CHECK(spec.module.empty());
  CHECK(spec.key == "request_id");
  CHECK(spec.walk.size == 8);
  CHECK(spec.walk.hops == 0);
  spec = spec_of("p->8:*str");
  CHECK(spec.walk.offset[1] == 8);
  CHECK(spec.walk.kind == LS_VARIABLE_CSTRING);
  CHECK(spec_of("x:hex16").walk.size == 16);
  CHECK(spec_of("x:str256").walk.size == 256);
}

TEST_CASE("variable_spec: each mistake has its sentence, with what there is") {
  const std::pair<const char*, const char*> mistakes[] = {
      {"", "the type is missing"},
      {"x", "SYMBOL:TYPE is wanted"},
      {"x:",
       "the type is missing; the types are u8, u16, u32, u64, i8, i16, i32, i64, f32, f64, "
       "bool, hexN, strN, cstr, *str, ptrlen, lenptr"},
      {"x:u128", "there is no such type"},
      {"x:u8 ", "there is no such type"},
      {"x:ptrlen16", "the type ptrlen16 is one of presets alone"},
      {"x:hex", "hexN wants a number of bytes from 1 to 256"},
      {"x:hex0", "hexN wants"},
      {"x:str257", "the type str257 is too large: at most 256 bytes"},
      {"x:str-1", "strN wants"},
      {":u8", "the symbol is missing"},
      {"+8:u8", "the symbol is missing"},
      {"lib.so::u8", "the type is missing"},  // two colons are a scope of C++
      {"lib.so:+8:u8", "the symbol is missing"},
      {":x:u8", "the module in front of the first : is empty"},
      {"x:u8=", "the label key behind = is empty"},
      {"x+:u8", "is no offset"},
      {"x+y:u8", "\"+y\" is no offset"},
      {"x+-8:u8", "is no offset"},
      {"x->-8:u8", "is no offset"},
      {"x->0x:u8", "is no offset"},
      {"x+2147483648:u8", "the offset 2147483648 is too large: at most 2147483647"},
      {"x->->->->->->:u8", "more than 5 pointers"}};
  for (const auto& [text, part] : mistakes) {
    const std::string refusal = refusal_of(text);
    INFO(text << ": " << refusal);
    CHECK(refusal.find(part) != std::string::npos);
  }
}

TEST_CASE("variable: numbers, 0 among them") {
  CHECK(shown_of("u8", std::uint8_t{255}) == "=255");
  CHECK(shown_of("u16", std::uint16_t{65535}) == "=65535");
  CHECK(shown_of("u32", std::uint32_t{0}) == "=0");
  CHECK(shown_of("u64", std::numeric_limits<std::uint64_t>::max()) == "=18446744073709551615");
  CHECK(shown_of("i8", std::int8_t{-128}) == "=-128");
  CHECK(shown_of("i16", std::int16_t{-2}) == "=-2");
  CHECK(shown_of("i32", std::int32_t{-7}) == "=-7");
  CHECK(shown_of("i64", std::numeric_limits<std::int64_t>::min()) == "=-9223372036854775808");
  CHECK(shown_of("f32", 0.1F) == "=0.1");
  CHECK(shown_of("f64", -1.5e300) == "=-1.5e+300");
  CHECK(shown_of("f64", std::numeric_limits<double>::infinity()) == "=inf");
  CHECK(shown_of("bool", std::uint8_t{0}) == "=false");
  CHECK(shown_of("bool", std::uint8_t{2}) == "=true");
  CHECK(shown_of("hex3", std::array<std::uint8_t, 3>{0, 0xab, 0xff}) == "=00abff");
}

TEST_CASE("variable: text in an array ends at its NUL, or with the array") {
  FakeMemory memory;
  memory.put_text(kVariable, std::string_view("acme\0old", 8));
  CHECK(shown("x:str8", memory) == "=acme");
  CHECK(shown("x:str3", memory) == "=acm");
  CHECK(shown("x+4:str4", memory) == "=");
  CHECK(shown("x+5:str3", memory) == "=old");
}

TEST_CASE("variable: pointers lead to the value, and a null pointer to no label") {
  FakeMemory memory;
  memory.put(kVariable, kObject);
  memory.put(kObject + 8, kObject + 0x100);
  memory.put(kObject + 0x104, std::uint32_t{7});
  CHECK(shown("x->+8->+4:u32", memory) == "=7");
  CHECK(shown("x->8->4:u32", memory) == "=7");
  CHECK(shown("x->+16->+4:u32", memory) == "unlabelled");
  memory.put(kVariable, Address{0});
  CHECK(shown("x->+8->+4:u32", memory) == "unlabelled");
  CHECK(shown("x:cstr", memory) == "unlabelled");
  CHECK(shown("x:u64", memory) == "=0");
}

TEST_CASE("variable: C strings up to a page that is not there") {
  FakeMemory memory;
  memory.put(kVariable, kText + 4090);
  memory.put_text(kText + 4090, std::string_view("acme\0", 5));
  CHECK(shown("x:cstr", memory) == "=acme");
  memory.put_text(kText + 4090, "123456");  // no NUL before the hole
  CHECK(shown("x:cstr", memory) == "not-resident");
  memory.put_text(kText + 4096, std::string_view("78\0", 3));
  CHECK(shown("x:cstr", memory) == "=12345678");
  memory.put(kText + 4090, std::uint8_t{0});
  CHECK(shown("x:cstr", memory) == "=");
}

TEST_CASE("variable: longer text is cut, and said to be") {
  FakeMemory memory;
  memory.put(kVariable, kText + 4000);
  memory.put_text(kText + 4000, std::string(256, 'x') + std::string(1, '\0'));
  CHECK(shown("x:cstr", memory) == "=" + std::string(256, 'x'));
  CHECK(observed("x:cstr", memory).flags == 0);
  memory.put_text(kText + 4000, std::string(300, 'x'));
  CHECK(shown("x:cstr", memory) == "=" + std::string(256, 'x'));
  CHECK(observed("x:cstr", memory).flags == LS_TRUNCATED_BYTES);
  memory.put(kVariable + 8, std::uint64_t{300});
  CHECK(shown("x:ptrlen", memory) == "=" + std::string(256, 'x'));
  CHECK(observed("x:ptrlen", memory).flags == LS_TRUNCATED_BYTES);
}

TEST_CASE("variable: slices in both orders") {
  FakeMemory memory;
  memory.put_text(kText, "acme");
  memory.put(kVariable, std::array<std::uint64_t, 3>{kText, 4, kText});
  CHECK(shown("x:ptrlen", memory) == "=acme");
  CHECK(shown("x+8:lenptr", memory) == "=acme");
  memory.put(kVariable + 8, std::uint64_t{0});
  CHECK(shown("x:ptrlen", memory) == "=");
  memory.put(kVariable + 8, ~std::uint64_t{0});
  CHECK(shown("x:ptrlen", memory) == "malformed");
  memory.put(kVariable, Address{0});
  CHECK(shown("x:ptrlen", memory) == "unlabelled");
}

TEST_CASE("variable: wild pointers are unreadable, each for its reason") {
  FakeMemory memory;
  memory.put(kVariable, Address{1} << 57);
  for (const char* text : {"x->:u8", "x:cstr", "x:ptrlen"})
    CHECK(shown(text, memory) == "malformed");
  memory.put(kVariable, Address{0x1234'5678});
  memory.put(kVariable + 8, std::uint64_t{1});
  for (const char* text : {"x->:u8", "x:cstr", "x:ptrlen"}) {
    CHECK(shown(text, memory) == "not-resident");
  }
  CHECK(shown("x:u8", FakeMemory()) == "not-resident");
  CHECK(shown("x->:u8", FakeMemory()) == "not-resident");
}

TEST_CASE("variable: raw bytes are understood by themselves, or not at all") {
  const LabelSource& source = *find_source(LS_SOURCE_VARIABLE);
  struct {
    ls_variable_value head;
    std::uint32_t value;
  } raw{{LS_VARIABLE_UNSIGNED, 1, 0, 4}, 42};
  const auto bytes = std::as_bytes(std::span(&raw, 1));
  CHECK(source.decode(bytes, 3, {&facts()}).labels == LabelSet{{"key", "42", 3}});
  CHECK(source.decode(bytes, 3, {}).labels == LabelSet{{"variable1", "42", 3}});
  CHECK(source.decode(bytes.first(11), 0, {&facts()}).outcome == LS_UNREADABLE_MALFORMED);
  CHECK(source.decode(bytes.first(7), 0, {&facts()}).outcome == LS_UNREADABLE_MALFORMED);
  CHECK(source.decode({}, 0, {&facts()}).outcome == LS_UNREADABLE_MALFORMED);
  raw.head.kind = LS_VARIABLE_CSTRING;
  raw.value = 0x61626364;  // no NUL
  CHECK(source.decode(bytes, 0, {&facts()}).outcome == LS_UNREADABLE_MALFORMED);
  for (const unsigned kind : {0U, 10U, 255U}) {
    raw.head.kind = static_cast<std::uint8_t>(kind);
    CHECK(source.decode(bytes, 0, {&facts()}).outcome == LS_UNREADABLE_MALFORMED);
  }
}

TEST_CASE("variable: two with one value are two labels") {
  FakeMemory memory;
  memory.put(kVariable, std::array<std::uint32_t, 2>{5, 5});
  ls_tls_recipe recipes[] = {recipe_of("x:u32"), recipe_of("x+4:u32")};
  ls_variable other{};
  std::memcpy(&other, recipes[1].parameters, sizeof other);
  other.index = 0;
  std::memcpy(recipes[1].parameters, &other, sizeof other);
  const Observation seen = observe(recipes, {kTp, Tid{}, nullptr, &facts()}, memory);
  CHECK(seen.labels == LabelSet{{"key", "5", 0}, {"zero", "5", 1}});
}

TEST_CASE("variable: the way is explained") {
  FakeMemory memory;
  memory.put(kVariable, kObject);
  memory.put(kObject + 8, kText);
  memory.put_text(kText, std::string_view("acme\0", 5));
  ProcessPlan plan;
  plan.facts = std::make_shared<ProcessFacts>(facts());
  plan.publishers.emplace_back();
  plan.publishers[0].path = "/bin/shop";
  plan.publishers[0].named = "x->+8:cstr";
  plan.publishers[0].recipe = recipe_of("x->+8:cstr");
  const auto told = explain_thread(plan, {kTp}, memory);
  const auto tells = [&](const Explanation& all, std::string_view part) {
    return std::any_of(all.steps.begin(), all.steps.end(), [&](const std::string& step) {
      return step.find(part) != std::string::npos;
    });
  };
  CHECK(tells(told, "/bin/shop (x->+8:cstr, "));
  CHECK(tells(told, "the pointer at 0x70000fc0"));
  CHECK(tells(told, "the value at 0x50000008"));
  CHECK(tells(told, "its text at 0x60000000"));
  CHECK(tells(told, "key=acme"));
  CHECK(told.findings.empty());
  memory.put(kObject + 8, Address{0x1234});
  const auto wild = explain_thread(plan, {kTp}, memory);
  REQUIRE(wild.findings.size() == 1);
  CHECK(wild.findings[0].code == FindingCode::kBadPointer);
}

}  // namespace labelscope::test
