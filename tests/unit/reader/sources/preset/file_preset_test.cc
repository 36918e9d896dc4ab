// Tests presets from their text to labels, in a made-up process of a compiled server: which file
// and variant they take, what they read, and that each check keeps a wrong label away.
#include "sources/preset/file_preset.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "labelscope/observe.h"
#include "labelscope/plan.h"
#include "sources/preset/preset_compile.h"
#include "sources/preset/preset_match.h"
#include "support/catch.h"
#include "unit/reader/elf_bytes.h"

namespace labelscope::test {
namespace {

constexpr Address kBias = 0x5500'0000'0000;
constexpr const char* kPath = "/usr/bin/another-name";
// As struct entry in preset_server.c has them.
constexpr Address kChanges = 0, kOwner = 4, kState = 8, kNumber = 12, kName = 16, kUser = 24;

const std::string kHead =
    "preset shop 1\n"
    "match current_entry own_process|older_process get_user_id !other_program\n"
    "variant 9 when current_entry.size == 99 set state=99\n"
    "variant 2 when entries !newer set state=8\n"
    "variant 1 when entries set state=77\n"
    "let e = current_entry->\n";

std::shared_ptr<const FilePreset> preset_of(const std::string& text) {
  auto preset = parse_preset(text);
  if (!preset) FAIL(preset.error().context);
  return std::make_shared<FilePreset>(*std::move(preset));
}

class Server : public FakeTarget {
 public:
  Server() : image_(require_image(read_file(fixture_path("preset_server")))) {
    load(kPath, read_file(fixture_path("preset_server")), kBias, /*main=*/true);
    put("own_process", 0, std::uint32_t{42});
    put("current_entry", 0, std::uint64_t{place("entries")});
    put_entry(kChanges, std::uint32_t{2});
    put_entry(kOwner, std::uint32_t{42});
    put_entry(kState, std::uint32_t{2});
    put_entry(kNumber, std::uint32_t{7});
    put_text(kName, "ada?key=1");
    put_entry(kUser, std::uint64_t{place("entries") + 32});
    put("entries", 32 + kNumber, std::uint32_t{70});
  }

  Address place(const std::string& name) const {
    const auto symbol = PresetSymbols(image_).find(name);
    REQUIRE(symbol);
    return kBias + symbol->value;
  }
  template <class T>
  void put(const std::string& name, Address offset, const T& value) {
    fake_memory().put(place(name) + offset, value);
  }
  template <class T>
  void put_entry(Address offset, const T& value) {
    put("entries", offset, value);
  }
  void put_text(Address offset, const std::string& text) {
    constexpr Address kText = 0x7e00'0000'0000;
    std::array<char, 64> bytes{};
    std::ranges::copy(text, bytes.begin());
    fake_memory().put(kText, bytes);
    put_entry(offset, std::uint64_t{kText});
  }
  const ElfImage& image() const { return image_; }

 private:
  ElfImage image_;
};

ProcessPlan plan_of(const Server& server, const std::string& text) {
  Planner planner({.only = {LS_SOURCE_THREAD_CONTEXT}, .presets = {preset_of(kHead + text)}});
  auto plan = planner.plan(server);
  if (!plan) FAIL(plan.error().context);
  return *std::move(plan);
}

// "key=value key=value", or the outcome's name.
std::string labels_of(const Server& server, const std::string& text, bool first = true) {
  const ProcessPlan plan = plan_of(server, text);
  if (plan.publishers.empty()) {
    return "refused: " + plan.missing_presets.at(0).finding.text;
  }
  ThreadState thread;
  thread.thread_pointer = 0x7d00'0000'0000;
  thread.tid = Tid{first ? 42 : 43};
  thread.first = first;
  thread.name = "http-nio-8080-e";
  thread.facts = plan.facts.get();
  thread.presets = &plan.presets;
  const Observation seen = observe(plan.recipes(), thread, server.memory());
  if (seen.outcome != LS_LABELLED) return std::string(outcome_name(seen.outcome));
  std::string words;
  for (const Label& label : seen.labels) {
    words += (words.empty() ? "" : " ") + label.key + "=" + label.value;
  }
  return words;
}

unsigned count_steps(const Server& server, const std::string& text, unsigned op) {
  const auto preset = preset_of(kHead + text);
  const auto variant = choose_variant(preset->preset(), server.image());
  REQUIRE(variant);
  const auto plan = compile_preset(preset->preset(), *variant, server.image(), {kBias, true, {}});
  if (!plan) FAIL(plan.error().context);
  unsigned count = 0;
  for (unsigned i = 0; i < plan->program.count; ++i)
    count += plan->program.step[i].op == op ? 1 : 0;
  return count;
}

const std::string kNeeds =
    "need current_entry:u64 != 0 \"no entry\"\n"
    "need e+4:u32 == own_process:u32 \"of another\"\n"
    "need e+0:u32 even \"being written\"\n";

}  // namespace

TEST_CASE("file preset: values are read, with the numbers of the variant") {
  const Server server;
  CHECK(labels_of(server,
                  "label number = e+12:u32\nlabel name = e+16:cstr path\n"
                  "label state = e+$state:u32 map 2=running\n") ==
        "number=7 name=ada state=running");
  CHECK(plan_of(server, "label number = e+12:u32\n").publishers.at(0).named == "preset shop 2");
}

TEST_CASE("file preset: a text has a length of 64 bits, or of 16 with something else behind it") {
  Server server;
  server.put_entry(kName + 8, std::uint64_t{0xffff'ffff'ffff'0003});
  CHECK(labels_of(server, "label name = e+16:ptrlen16\n") == "name=ada");
  CHECK(labels_of(server, "label name = e+16:ptrlen\n") == "malformed");
  server.put_entry(kName + 8, std::uint64_t{5});
  CHECK(labels_of(server, "label name = e+16:ptrlen\n") == "name=ada?k");
}

TEST_CASE("file preset: accessors lead where the server's code says") {
  Server server;
  CHECK(labels_of(server,
                  "label name = e.name_of()->:cstr\nlabel user = e.user_of()->+12:u32\n"
                  "label number = e.number_of():u32\n") == "name=ada?key=1 user=70 number=70");
  server.put("user_id", 0, std::uint32_t{9});
  CHECK(labels_of(server, "label id = get_user_id():u32\n") == "id=9");
  CHECK(labels_of(server, "label x = e.computes():u32\n").find("computes() is no accessor: it ") !=
        std::string::npos);
  CHECK(labels_of(server, "label x = e.number_of():u64\n").find("reads 4 bytes") !=
        std::string::npos);
  CHECK(labels_of(server, "label x = e.name_of():u64\n").find("-> leads there") !=
        std::string::npos);
  CHECK(labels_of(server, "label x = number_of():u64\n").find("wants an argument") !=
        std::string::npos);
}

TEST_CASE("file preset: a need that does not hold leaves the thread stale") {
  const std::string text = kNeeds + "label number = e+12:u32\n";
  Server server;
  CHECK(labels_of(server, text) == "number=7");
  server.put_entry(kOwner, std::uint32_t{41});
  CHECK(labels_of(server, text) == "stale");
  server.put_entry(kOwner, std::uint32_t{42});
  server.put_entry(kChanges, std::uint32_t{3});
  CHECK(labels_of(server, text) == "stale");
  server.put_entry(kChanges, std::uint32_t{4});
  CHECK(labels_of(server, text) == "number=7");
  server.put("current_entry", 0, std::uint64_t{0});
  CHECK(labels_of(server, text) == "stale");
  // Without the needs, a null pointer is no label.
  CHECK(labels_of(server, "label number = e+12:u32\n") == "unlabelled");
}

TEST_CASE("file preset: a condition that does not hold leaves out one label alone") {
  const std::string text =
      "label number = e+12:u32 if e+8:u32 == 2 unless 0\n"
      "label user = e+24->+12:u32 if e+8:u32 > 2\n"
      "label name = e+16:cstr unless \"\"\n";
  Server server;
  CHECK(labels_of(server, text) == "number=7 name=ada?key=1");
  server.put_entry(kState, std::uint32_t{3});
  CHECK(labels_of(server, text) == "user=70 name=ada?key=1");
  // A pointer behind a condition is followed by nobody else: two labels with the same one share it.
  CHECK(labels_of(server, "label a = e+24->+12:u32 if e+8:u32 == 2\nlabel b = e+24->+12:u32\n") ==
        "b=70");
  server.put_entry(kState, std::uint32_t{2});
  server.put_entry(kNumber, std::uint32_t{0});
  server.put_text(kName, "");
  CHECK(labels_of(server, text) == "unlabelled");
  server.put_entry(kUser, std::uint64_t{0});
  CHECK(labels_of(server, "label a = e+24->+12:u32\nlabel b = e+24->+8:u32\nlabel c = e+4:u32\n") ==
        "c=42");
}

TEST_CASE("file preset: an address of the file is compared") {
  Server server;
  server.put_entry(kUser, std::uint64_t{server.place("work_on")});
  const std::string text = "label number = e+12:u32 if e+24:u64 == &work_on\n";
  CHECK(labels_of(server, text) == "number=7");
  server.put_entry(kUser, std::uint64_t{server.place("work_on") + 1});
  CHECK(labels_of(server, text) == "unlabelled");
}

TEST_CASE("file preset: labels of a title that is not known are left out, and it is said") {
  const Server server;
  const std::string text = "label title = @title\nlabel number = e+12:u32\n";
  CHECK(labels_of(server, text) == "number=7");
  CHECK(plan_of(server, text).publishers.at(0).named == "preset shop 2 without title");
  CHECK(labels_of(server, "label title = @title\n").find("the title of the process is not known") !=
        std::string::npos);
}

TEST_CASE("file preset: several ways lead to one label, each under its own condition") {
  const std::string text =
      "label which = e+12:u32 if e+8:u32 == 2\nlabel which = e+24->+12:u32 if e+8:u32 != 2\n";
  Server server;
  CHECK(labels_of(server, text) == "which=7");
  server.put_entry(kState, std::uint32_t{3});
  CHECK(labels_of(server, text) == "which=70");
}

TEST_CASE("file preset: a name is the pointer of that condition which holds") {
  // Both ways lead to an entry, of which two fields are read: so it is read as a block.
  const std::string text =
      "let p = current_entry-> if e+8:u32 == 2\n"
      "let p = e+24-> if e+8:u32 == 3\n"
      "let q = p+24-> if p+12:u32 == 7\n"
      "label number = p+12:u32\n"
      "label owner = p+4:u32\n"
      "label behind = q+12:u32\n";
  Server server;
  CHECK(labels_of(server, text) == "number=7 owner=42 behind=70");
  CHECK(count_steps(server, text, LS_PRESET_BLOCK) == 2);  // of e, and of p once for both ways
  server.put_entry(kState, std::uint32_t{3});
  CHECK(labels_of(server, text) == "number=70 owner=0");
  server.put_entry(kState, std::uint32_t{4});
  CHECK(labels_of(server, text) == "unlabelled");
  server.put_entry(kState, std::uint32_t{3});
  server.put_entry(kUser, std::uint64_t{0});
  CHECK(labels_of(server, text) == "unlabelled");
}

TEST_CASE("file preset: a thread's name is read with what else there is") {
  const Server server;
  CHECK(labels_of(server, "label thread = @comm\nlabel port = @comm after \"nio-\"\n",
                  /*first=*/false) == "thread=http-nio-8080-e port=8080-e");
  // Without the name there is no label, and the others stay.
  const ProcessPlan plan = plan_of(server, "label thread = @comm\nlabel number = e+12:u32\n");
  ThreadState thread;
  thread.first = true;
  thread.presets = &plan.presets;
  const Observation seen = observe(plan.recipes(), thread, server.memory());
  CHECK(seen.labels == LabelSet{{"number", "7", 0}});
}

TEST_CASE("file preset: names of threads are left out of a core file, and it is said") {
  class DeadServer : public Server {
    bool is_alive() const override { return false; }
  };
  const DeadServer server;
  const std::string text = "label thread = @comm\nlabel number = e+12:u32\n";
  CHECK(labels_of(server, text) == "number=7");
  CHECK(plan_of(server, text).publishers.at(0).named == "preset shop 2 without thread");
  CHECK(labels_of(server, "label thread = @comm\n")
            .find("a core file has the name of the process, and none of its threads' names") !=
        std::string::npos);
}

TEST_CASE("file preset: variables of the process label its first thread alone") {
  const Server server;
  CHECK(labels_of(server, "label number = e+12:u32\n", /*first=*/false) == "unlabelled");
  // Where the thread's own number is compared, each thread may be the one.
  const std::string text =
      "need own_process:u32 == @tid \"of another thread\"\nlabel number = e+12:u32\n";
  CHECK(labels_of(server, text) == "number=7");
  CHECK(labels_of(server, text, /*first=*/false) == "stale");
}

TEST_CASE("file preset: fields of one structure are read at once") {
  const Server server;
  const std::string text =
      kNeeds + "label a = e+12:u32\nlabel b = e+16:cstr\nlabel c = e+8:u32 if e+8:u32 > 1\n";
  CHECK(labels_of(server, text) == "a=7 b=ada?key=1 c=2");
  CHECK(count_steps(server, text, LS_PRESET_BLOCK) == 1);
  // The pointer to the entry, and own_process.
  CHECK(count_steps(server, text, LS_PRESET_READ) == 2);
}

TEST_CASE("file preset: what fits no variant is refused with what was found") {
  const Server server;
  const auto text = [](const std::string& match, const std::string& variant) {
    return "preset shop 1\nmatch " + match + "\n" + variant + "label a = current_entry:u64\n";
  };
  const auto fit = [&](const std::string& match, const std::string& variant) {
    return fit_preset(preset_of(text(match, variant))->preset(), server.image());
  };
  CHECK(fit("current_entry", "").fits());
  CHECK(fit("current_entry other|another", "").why_not == "it has no symbol other or another");
  CHECK_FALSE(fit("current_entry other", "").matches);
  CHECK_FALSE(fit("current_entry !main", "").matches);
  CHECK(fit("*", "").fits());
  CHECK(fit("current_entry", "variant 1 when current_entry.size == 8\n").variant == "1");
  const PresetFit unknown = fit("current_entry", "variant 1 when current_entry.size == 16\n");
  CHECK(unknown.matches);
  CHECK(unknown.why_not.find("current_entry has 8 bytes, and known are 16") != std::string::npos);
  CHECK(fit("current_entry", "variant 1 when nothing\nvariant 2 when !main\n")
            .why_not.find("no version that the preset shop knows (1, 2)") != std::string::npos);
  CHECK(labels_of(server, "label a = nothing:u64\n").find("the file has no symbol nothing") !=
        std::string::npos);
  CHECK(labels_of(server, "need entries.size == 1 \"one entry\"\nlabel a = e+12:u32\n")
            .find("entries.size == 1 does not hold: one entry") != std::string::npos);
}

}  // namespace labelscope::test
