// Tests the text of presets: what is understood, and what is refused in which line.
#include "sources/preset/preset_file.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "sources/preset/preset_compile.h"
#include "support/catch.h"
#include "support/paths.h"
#include "unit/reader/elf_bytes.h"

namespace labelscope::test {
namespace {

const std::string kHead =
    "preset shop 2\nabout  A shop\nmatch  shop_now|shop_then shop_pid !shop_test\n";

PresetDescription parsed(const std::string& text) {
  auto preset = parse_preset(text);
  if (!preset) FAIL(preset.error().context);
  return *std::move(preset);
}
std::string refusal(const std::string& text) {
  const auto preset = parse_preset(text);
  return preset ? "accepted" : preset.error().context;
}
// Of a line behind the three of kHead.
std::string refusal_of_line(const std::string& line) {
  const std::string text = refusal(kHead + line + "\nlabel a = shop_now:u64\n");
  const std::string where = "line 4: ";
  return text.starts_with(where) ? text.substr(where.size()) : text;
}

std::string transformed(const std::string& words, const std::string& value) {
  const PresetDescription preset = parsed(kHead + "label a = shop_now:cstr " + words + "\n");
  return transform_value(preset.labels.at(0), value).value_or("(none)");
}

}  // namespace

TEST_CASE("preset: all statements of a file are understood") {
  const PresetDescription preset =
      parsed(kHead +
             "only main-thread\n"
             "# a comment\n"
             "variant 2 when shop_now.size==16 !shop_old set cur=8 run=3\n"
             "variant 1 when shop_old set cur=4 run=2  # behind a line\n"
             "let now = shop_now+$cur->\n"
             "need now+4:u32 == shop_pid:u32 \"of another\"\n"
             "need now+0:u32 even \"being written\"\n"
             "label query = now+8:i64 if now+2:u8 == $run unless 0 class=mid\n"
             "label who = who():cstr unless \"\"\n"
             "private text = now->+0x10:cstr fingerprint\n"
             "truth the till\n");
  CHECK(preset.name == "shop");
  CHECK(preset.version == 2);
  CHECK(preset.about == "A shop");
  CHECK(preset.match ==
        std::vector<std::vector<std::string>>{{"shop_now", "shop_then"}, {"shop_pid"}});
  CHECK(preset.match_none == std::vector<std::string>{"shop_test"});
  CHECK(preset.only_main_thread);
  REQUIRE(preset.variants.size() == 2);
  CHECK(preset.variants[0].tests[0].size == 16);
  CHECK(preset.variants[0].tests[1].absent);
  CHECK(preset.variants[0].parameters ==
        std::map<std::string, std::int64_t>{{"cur", 8}, {"run", 3}});
  REQUIRE(preset.needs.size() == 2);
  CHECK(preset.needs[0].why == "of another");
  CHECK(preset.needs[0].condition.left.base == PresetExpression::Base::kLet);
  REQUIRE(preset.labels.size() == 3);
  CHECK(preset.labels[0].conditions.size() == 1);
  CHECK(preset.labels[0].unless->value == 0);
  CHECK(preset.labels[0].cardinality == PresetClass::kMiddle);
  CHECK(preset.labels[1].value.base == PresetExpression::Base::kFunction);
  CHECK(preset.labels[1].unless_empty);
  CHECK(preset.labels[2].is_private);
  CHECK(preset.labels[2].value.steps.size() == 2);
  CHECK(preset.truth == "the till");
}

TEST_CASE("preset: a search, an address and a title are understood") {
  const PresetDescription preset =
      parsed(kHead +
             "label route = shop_now->find(+0:u32==1955,next=+32,max=4)+24:cstr path\n"
             "label kind = shop_now+8:u64 if shop_now+16:u64 == &shop_work\n"
             "label title = @title word 2\n");
  const PresetExpression& route = preset.labels[0].value;
  REQUIRE(route.steps.size() == 3);
  CHECK(route.steps[0].kind == PresetStep::Kind::kFollow);
  CHECK(route.steps[1].search.value.value == 1955);
  CHECK(route.steps[1].search.next.value == 32);
  CHECK(route.steps[1].search.most == 4);
  CHECK(preset.labels[1].conditions[0].right.base == PresetExpression::Base::kSymbolAddress);
  CHECK(preset.labels[2].value.base == PresetExpression::Base::kTitle);
}

TEST_CASE("preset: a line that is not understood is refused with its number") {
  CHECK(refusal_of_line("labels a = b:u64").starts_with("there is no statement \"labels\""));
  CHECK(refusal_of_line("label b = shop_now").starts_with("the type is missing: shop_now:TYPE"));
  CHECK(refusal_of_line("label b = shop_now:u65").starts_with("there is no such type"));
  CHECK(refusal_of_line("label b = shop_now:str300").starts_with("the type str300 is too large"));
  CHECK(refusal_of_line("label b shop_now:u64") == "behind the name stands =");
  CHECK(refusal_of_line("label b = :u64").find("begins with no symbol") != std::string::npos);
  CHECK(refusal_of_line("label b = shop_now*8:u64").find("is no step") != std::string::npos);
  CHECK(refusal_of_line("label b = shop_now+2000000:u64").find("too large") != std::string::npos);
  CHECK(refusal_of_line("label b = shop_now.f:u64").find("an accessor is wanted") !=
        std::string::npos);
  CHECK(refusal_of_line("label b = @host") == "there is no @host, only @title, @comm and @tid");
  CHECK(refusal_of_line("label b = @comm:cstr") ==
        "\"@comm:cstr\" is a text: no step or type follows it");
  CHECK(refusal_of_line("label b = 5:u64").find("is a number") != std::string::npos);
  CHECK(refusal_of_line("label b = shop_now->find(+0:u32==1,next=+2,max=9)+1:u8") ==
        "a search looks at 1 to 8 nodes");
  CHECK(refusal_of_line("label b = shop_now:u64 path path path path path") ==
        "too many transforms");
  CHECK(refusal_of_line("label b = shop_now:u64 if shop_pid:u32 = 1").find("stands ==") !=
        std::string::npos);
  CHECK(refusal_of_line("label b = shop_now:u64 if shop_pid:cstr == 1").find("is no number") !=
        std::string::npos);
  CHECK(refusal_of_line("label b = shop_now:cstr unless 0").find("is no number") !=
        std::string::npos);
  CHECK(refusal_of_line("label b = shop_now:u64 class=huge") == "class is low, mid or high");
  CHECK(refusal_of_line("label b = shop_now:u64\nlabel b = shop_now:u32 if shop_now:u64 > 1")
            .find("is there already, and not both have an if") != std::string::npos);
  CHECK(refusal_of_line("label b = shop_now:cstr names=c").find("names=c is no other label") !=
        std::string::npos);
  CHECK(refusal_of_line("need shop_now:u64 != 0").find("what it means") != std::string::npos);
  CHECK(refusal_of_line("need shop_now:u64 != 0 \"why").find("no other one behind it") !=
        std::string::npos);
  CHECK(refusal_of_line("let x = shop_now:u64").find("leave the type") != std::string::npos);
  const std::string let = "let x = shop_now->";
  const std::string when = let + " if shop_pid:u32 == 1";
  const std::string twice = "line 5: \"x\" is there already, and not both have an if";
  CHECK(refusal_of_line(let + "\n" + let) == twice);
  CHECK(refusal_of_line(when + "\n" + let) == twice);
  CHECK(refusal_of_line(when + "\nlet y = shop_now->\n" + when) ==
        "line 6: all lines of \"x\" stand together");
  CHECK(refusal_of_line(when + "\nlet x = x+8-> if shop_pid:u32 == 2") ==
        "line 5: \"x\" is made of itself");
  CHECK(refusal_of_line("let x = shop_now+8 if shop_pid:u32 == 1") ==
        "with an if, what let names ends in ->");
  CHECK(refusal_of_line("variant 1 shop_now").find("when") != std::string::npos);
  CHECK(refusal_of_line("variant 1 when shop_now set x").find("NAME=NUMBER") != std::string::npos);
  CHECK(refusal_of_line("variant 1 when shop_now set x=1 x=2") == "$x is set twice");
  CHECK(refusal_of_line("variant 1 when shop_now.size=16").find("is no name") != std::string::npos);
  CHECK(refusal_of_line("only one-thread") == "only main-thread is known");
  CHECK(refusal_of_line("match other") == "a preset has one line of match");
  CHECK(refusal_of_line("preset other 1") == "a file has one preset");
  CHECK(refusal_of_line(std::string(1001, 'x')) == "it has more than 1000 characters");
}

TEST_CASE("preset: what only the whole file shows is refused") {
  CHECK(refusal("") == "it has no statement: preset NAME VERSION");
  CHECK(refusal("label a = b:u64\n") == "line 1: the first statement is: preset NAME VERSION");
  CHECK(refusal("preset a 1\nlabel a = b:u64\n") == "it has no statement: match SYMBOL...");
  CHECK(refusal(kHead) == "it has no label");
  CHECK(refusal(kHead + "label a = shop_now+$x:u64\n") == "no variant sets $x");
  CHECK(refusal(kHead + "variant 1 when shop_now set y=1\nlabel a = shop_now+$x:u64\n") ==
        "variant 1 does not set $x");
  CHECK(refusal("preset SHOP 1\n").starts_with("line 1: the name of a preset"));
  CHECK(refusal("preset shop 0\n").starts_with("line 1: preset NAME VERSION is wanted"));
  CHECK(
      refusal(std::string(kMostPresetBytes + 1, '\n')).starts_with("it has more than 65536 bytes"));
  std::string many = kHead;
  for (int i = 0; i < 65; ++i) many += "variant " + std::to_string(i) + " when shop_now\n";
  CHECK(refusal(many) == "line 68: more than 64 variants");
  many = kHead;
  for (int i = 0; i < 17; ++i) many += "label l" + std::to_string(i) + " = shop_now:u8\n";
  CHECK(refusal(many) == "line 20: more than 16 labels");
}

TEST_CASE("preset: transforms keep what a label is about") {
  CHECK(transformed("path", "/cart?user=7") == "/cart");
  CHECK(transformed("path", "/cart#top") == "/cart");
  CHECK(transformed("word 2", "GET /cart HTTP/1.1") == "/cart");
  CHECK(transformed("word 4", "GET /cart HTTP/1.1") == "(none)");
  CHECK(transformed("word 2 path", "GET /cart?user=7 HTTP/1.1") == "/cart");
  CHECK(transformed("word 2 path", "GET ?user=7 HTTP/1.1") == "(none)");
  CHECK(transformed("path word 2", "GET /cart?user=7 HTTP/1.1") == "/cart");
  CHECK(transformed("after \"pool \"", "php-fpm: pool www") == "www");
  CHECK(transformed("after \"pool \"", "php-fpm: master") == "(none)");
  CHECK(transformed("map 1=LWLock 3=Lock", "3") == "Lock");
  CHECK(transformed("map 1=LWLock 3=Lock", "4") == "4");
  CHECK(transformed("", "") == "");
  CHECK(transformed("unless \"\"", "") == "(none)");
}

TEST_CASE("preset: a fingerprint is of the dialect that is named") {
  CHECK(transformed("fingerprint", "SELECT \"a\", 'b' # c") == "SELECT \"a\", ? # c");
  CHECK(transformed("fingerprint mysql", "SELECT \"a\", 'b' # c\n, d") == "SELECT ? , d");
}

TEST_CASE("preset: a path has nobody's password and session in it") {
  const std::vector<std::pair<std::string, std::string>> paths{
      {"http://bob:pw@host:80/cart", "http://host:80/cart"},
      {"http://bob@host/cart", "http://host/cart"},
      {"http://bob%40x.org:pw%40@host/cart", "http://host/cart"},
      {"http://bob:p%23w@host/cart", "http://"},
      {"http://bob:p?w@host/cart", "http://"},
      {"http://bob:p;w@host/cart", "http:///cart"},
      {"http:/bob:pw@host/cart", "http:/host/cart"},
      {"//bob:pw@host/cart", "//host/cart"},
      {"bob:pw@host:443", "host:443"},
      {"/proxy/https://bob:pw@host/cart", "/proxy/https://host/cart"},
      {"/proxy/https%3A%2F%2Fbob:pw%40host/cart", "/proxy/host/cart"},
      {"/cart;jsessionid=1f/items;a=b?c", "/cart/items"},
      {"/cart%3Bjsessionid=1f/items", "/cart/items"},
      {"/cart;mail=x:y@z/items", "/cart/items"},
      {"/cart%3Fuser=7", "/cart"},
      {"/cart%3fuser=7", "/cart"},
      {"/cart%253Fuser=7", "/cart"},
      {"/cart%23top", "/cart"},
      {"/@bob/cart", "/@bob/cart"},
      {"/100%/a%2", "/100%/a%2"},
      {"*", "*"},
  };
  for (const auto& [written, path] : paths) {
    CAPTURE(written);
    CHECK(transformed("path unless \"\"", written) == path);
  }
}

TEST_CASE("preset: all files that come with labelscope are understood") {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(paths::kPresets)) {
    const std::string path = entry.path().string();
    INFO(path);
    const PresetDescription preset = parsed(read_file(path));
    CHECK(preset.name == entry.path().stem().string());
    CHECK_FALSE(preset.about.empty());
    ++count;
  }
  CHECK(count >= 3);
}

}  // namespace labelscope::test
