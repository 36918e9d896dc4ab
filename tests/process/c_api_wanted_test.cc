// Tests what the C API finds besides publishers: variables that the caller names, and what presets
// read, in programs that say what is true of their threads.
#include <algorithm>
#include <array>
#include <fstream>
#include <map>

#include "labelscope/label_blocks.h"
#include "labelscope/preset_plan.h"
#include "process/c_api_objects.h"
#include "support/paths.h"
#include "support/target_process.h"

namespace labelscope::test {
namespace {

using Pairs = std::map<std::string, std::string>;

Pairs pairs_of(const ls_observation* seen) {
  Pairs pairs;
  for (std::size_t i = 0; i < ls_label_count(seen); ++i) {
    pairs[text_of(ls_label_key(seen, i))] = text_of(ls_label_value(seen, i));
  }
  return pairs;
}

void want_variable(ls_target* target, const std::string& spec) {
  ls_error error;
  require_ok(ls_want_variable(target, spec.c_str(), &error), error);
}

// The thread of globals.c that has announced this.
Tid thread_of(const TargetProcess& target, const std::string& what) {
  for (const nlohmann::json& line : target.lines()) {
    if (line.contains("what") && line["what"] == what) return Tid{line["tid"].get<int>()};
  }
  FAIL("no thread is " << what);
  return {};
}

}  // namespace

TEST_CASE("c_api_wanted: each thread has the values of its own variables") {
  const TargetProcess process = start_target(paths::kVariables, {paths::kVariablesLibrary}, true);
  const OwnedTarget target = open_process(process.pid());
  want_variable(target.get(), "exe_u8:u8");
  want_variable(target.get(), "libvariables_library.so:lib_text:cstr=text");
  want_variable(target.get(), "lib_hidden:i32=hidden");
  const OwnedPlan plan = make_plan(target.get());
  REQUIRE(ls_publisher_count(plan.get()) == 3);
  std::vector<std::string> named;
  for (std::size_t i = 0; i < 3; ++i) named.push_back(text_of(ls_publisher_named(plan.get(), i)));
  CHECK(std::ranges::count(named, "exe_u8:u8") == 1);
  CHECK(ls_publisher_named(plan.get(), 3).size == 0);
  CHECK(ls_publisher_program(plan.get(), 0) == nullptr);
  std::size_t threads = 0;
  for (const nlohmann::json& line : process.lines()) {
    if (!line.contains("number")) continue;
    ++threads;
    const int number = line["number"].get<int>();
    const Tid tid{line["tid"].get<int>()};
    Pairs expected{{"exe_u8", std::to_string(200 + number)}, {"hidden", std::to_string(-number)}};
    if (number != 0) expected["text"] = "text " + std::to_string(number);
    CHECK(pairs_of(read_thread(target.get(), plan.get(), tid).get()) == expected);
  }
  CHECK(threads == 2);
}

TEST_CASE("c_api_wanted: what no module has is a finding with the number of its call") {
  const TargetProcess process = start_target(paths::kVariables, {paths::kVariablesLibrary}, true);
  const OwnedTarget target = open_process(process.pid());
  want_variable(target.get(), "exe_u8:u8");
  ls_error error;
  CHECK(ls_want_variable(target.get(), "exe_u8:u9", &error) == LS_ERROR_MALFORMED);
  const OwnedPreset shop = parse_preset(shop_preset(80));
  require_ok(ls_want_preset(target.get(), shop.get(), nullptr, 0, &error), error);
  want_variable(target.get(), "exe_u9:u8");
  const OwnedPlan plan = make_plan(target.get());
  CHECK(ls_publisher_count(plan.get()) == 1);
  std::map<std::size_t, std::string> missing;
  for (std::size_t i = 0; i < ls_finding_count(plan.get()); ++i) {
    if (ls_finding_wanted(plan.get(), i) == LS_NOT_WANTED) continue;
    missing[ls_finding_wanted(plan.get(), i)] = text_of(ls_finding_name(plan.get(), i));
    CHECK_FALSE(text_of(ls_finding_text(plan.get(), i)).empty());
    CHECK(ls_finding_path(plan.get(), i).size == 0);
    CHECK(ls_finding_publisher(plan.get(), i) == LS_NO_PUBLISHER);
  }
  CHECK(missing == std::map<std::size_t, std::string>{{1, "no-preset"}, {2, "no-variable"}});
  CHECK(ls_finding_wanted(plan.get(), SIZE_MAX) == LS_NOT_WANTED);
}

TEST_CASE("c_api_wanted: a spec that is wrong or there already is refused with the reason") {
  const OwnedTarget target = open_process(Pid{::getpid()});
  ls_error error;
  const std::pair<std::string, std::string> wrong[] = {{"", ""},
                                                       {":", ""},
                                                       {"a:u64x", "u64"},
                                                       {"a->->->->->->->:u8", ""},
                                                       {"@titel", "@title"},
                                                       {std::string(100'000, 'x'), ""}};
  for (const auto& [spec, said] : wrong) {
    INFO(spec.substr(0, 20));
    CHECK(ls_want_variable(target.get(), spec.c_str(), &error) == LS_ERROR_MALFORMED);
    CHECK(mentions(error.text, said));
    CHECK(std::strlen(error.text) > 0);
  }
  want_variable(target.get(), "a:u8=key");
  CHECK(ls_want_variable(target.get(), "b:u8=key", &error) == LS_ERROR_ARGUMENT);
  CHECK(mentions(error.text, "key"));
  for (int i = 1; i < LS_MAX_PUBLISHERS; ++i) {
    want_variable(target.get(), "a:u8=key" + std::to_string(i));
  }
  CHECK(ls_want_variable(target.get(), "c:u8", &error) == LS_ERROR_LIMIT);
  // What was refused has left nothing behind.
  make_plan(target.get());
}

TEST_CASE("c_api_wanted: a preset gives the first thread its labels, private ones if named") {
  const TargetProcess process = start_target(paths::kGlobals, {"room for a title"}, true);
  const Tid first = thread_of(process, "first");
  const Tid beside = thread_of(process, "beside");
  const OwnedPreset shop = parse_preset(shop_preset(80));
  CHECK(text_of(ls_preset_name(shop.get())) == "shop");
  REQUIRE(ls_preset_label_count(shop.get()) == 2);
  CHECK(text_of(ls_preset_label_key(shop.get(), 1)) == "user");
  CHECK(ls_preset_label_is_private(shop.get(), 0) == 0);
  CHECK(ls_preset_label_is_private(shop.get(), 1) == 1);
  CHECK(ls_preset_label_is_private(shop.get(), 2) == 0);
  CHECK(ls_preset_label_key(shop.get(), 2).size == 0);
  for (const bool with_private : {false, true}) {
    const OwnedTarget target = open_process(process.pid());
    const char* const keys[] = {"user"};
    ls_error error;
    require_ok(ls_want_preset(target.get(), shop.get(), keys, with_private ? 1 : 0, &error), error);
    const OwnedPlan plan = make_plan(target.get());
    REQUIRE(ls_publisher_count(plan.get()) == 1);
    CHECK(text_of(ls_publisher_named(plan.get(), 0)) == "preset shop two");
    Pairs expected{{"route", "/checkout"}};
    if (with_private) expected["user"] = "ada";
    CHECK(pairs_of(read_thread(target.get(), plan.get(), first).get()) == expected);
    const OwnedObservation other = read_thread(target.get(), plan.get(), beside);
    CHECK(ls_observed_outcome(other.get()) == LS_UNLABELLED);
    // For a BPF map: the program that the recipe names, and its number there.
    REQUIRE(ls_publisher_program(plan.get(), 0) != nullptr);
    CHECK(ls_publisher_recipe(plan.get(), 0)->source == LS_SOURCE_PRESET);
    ls_preset_recipe own;
    static_assert(sizeof own == sizeof ls_tls_recipe::parameters);
    std::memcpy(&own, ls_publisher_recipe(plan.get(), 0)->parameters, sizeof own);
    CHECK(ls_publisher_program_number(plan.get(), 0) == own.preset);
    CHECK_FALSE(refuse_program(*ls_publisher_program(plan.get(), 0)));
  }
}

TEST_CASE("c_api_wanted: what a BPF program has read of a variable and by a preset gets its keys") {
  const TargetProcess process = start_target(paths::kGlobals, {"room for a title"}, true);
  const OwnedPreset shop = parse_preset(shop_preset(80));
  const OwnedTarget target = open_process(process.pid());
  ls_error error;
  want_variable(target.get(), "shard:u32=part");
  require_ok(ls_want_preset(target.get(), shop.get(), nullptr, 0, &error), error);
  const OwnedPlan plan = make_plan(target.get());
  REQUIRE(ls_publisher_count(plan.get()) == 2);
  const bool preset_first = ls_publisher_program(plan.get(), 0) != nullptr;
  const auto of_preset = static_cast<std::uint8_t>(preset_first ? 0 : 1);
  const auto of_variable = static_cast<std::uint8_t>(preset_first ? 1 : 0);
  struct {
    ls_label_head head{0, LS_LABELLED, 2, 24 + 32, 0};
    ls_label_block variable{0, LS_SOURCE_VARIABLE, 0, 12};
    ls_variable_value value{LS_VARIABLE_UNSIGNED, 0, 0, 4};
    std::uint32_t number[2] = {41, 0};
    ls_label_block preset{0, LS_SOURCE_PRESET, 0, 8 + 4 + 7};
    ls_preset_labels labels{0, 1};
    ls_preset_label label{0, LS_VARIABLE_ARRAY, {7, 0}};
    char route[12] = "/search";
  } made;
  made.variable.publisher = of_variable;
  made.preset.publisher = of_preset;
  made.labels.preset = ls_publisher_program_number(plan.get(), of_preset);
  const auto decode = [&](const ls_plan* of) {
    ls_observation* seen = nullptr;
    require_ok(ls_decode_labels_of(of, &made, sizeof made, &seen, &error), error);
    return OwnedObservation(seen);
  };
  CHECK(pairs_of(decode(plan.get()).get()) == Pairs{{"part", "41"}, {"route", "/search"}});
  // A number that names no program, and a head that claims more than there is.
  made.labels.preset = UINT32_MAX;
  CHECK(pairs_of(decode(plan.get()).get()) == Pairs{{"part", "41"}});
  made.labels = {ls_publisher_program_number(plan.get(), of_preset), 7};
  CHECK_FALSE(pairs_of(decode(plan.get()).get()).contains("user"));
  made.value.size = UINT32_MAX;
  CHECK_FALSE(pairs_of(decode(plan.get()).get()).contains("part"));
}

TEST_CASE("c_api_wanted: a preset for another version is a finding, and gives no labels") {
  const TargetProcess process = start_target(paths::kGlobals, {"room for a title"}, true);
  const OwnedPreset shop = parse_preset(shop_preset(81));
  const OwnedTarget target = open_process(process.pid());
  ls_error error;
  require_ok(ls_want_preset(target.get(), shop.get(), nullptr, 0, &error), error);
  const OwnedPlan plan = make_plan(target.get());
  CHECK(ls_publisher_count(plan.get()) == 0);
  REQUIRE(ls_finding_count(plan.get()) == 1);
  CHECK(text_of(ls_finding_name(plan.get(), 0)) == "no-preset");
}

TEST_CASE("c_api_wanted: a preset's text that is wrong is refused with the line") {
  ls_preset* preset = nullptr;
  ls_error error;
  const auto refusal = [&](const std::string& text) {
    preset = reinterpret_cast<ls_preset*>(1);
    CHECK(ls_parse_preset(text.data(), text.size(), &preset, &error) == LS_ERROR_MALFORMED);
    CHECK(preset == nullptr);
    return std::string(error.text);
  };
  CHECK(refusal("preset shop 1\nmatch a\nlabel b = a:u99\n").starts_with("line 3: "));
  CHECK(refusal("preset shop 1\nmatch a\n\xff\xfe\n").starts_with("line 3: "));
  CHECK_FALSE(refusal("").empty());
  CHECK_FALSE(refusal(std::string(100, '\0')).empty());
  CHECK_FALSE(refusal("preset shop 1\n" + std::string(65 * 1024, '#')).empty());
}

TEST_CASE("c_api_wanted: a preset is wanted once, and has the labels that are named") {
  const OwnedTarget target = open_process(Pid{::getpid()});
  const OwnedPreset shop = parse_preset(shop_preset(80));
  const char* const other[] = {"user", "password"};
  const char* const none[] = {"user", nullptr};
  ls_error error;
  CHECK(ls_want_preset(target.get(), shop.get(), other, 2, &error) == LS_ERROR_NOT_FOUND);
  CHECK(mentions(error.text, "password"));
  CHECK(ls_want_preset(target.get(), shop.get(), none, 2, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_want_preset(target.get(), shop.get(), nullptr, 1, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_want_preset(target.get(), shop.get(), other, SIZE_MAX, &error) == LS_ERROR_ARGUMENT);
  require_ok(ls_want_preset(target.get(), shop.get(), other, 1, &error), error);
  CHECK(ls_want_preset(target.get(), shop.get(), other, 1, &error) == LS_ERROR_ARGUMENT);
  CHECK(mentions(error.text, "shop"));
}

TEST_CASE("c_api_wanted: a preset is read by its name, and by the path of a file") {
  ls_preset* preset = nullptr;
  ls_error error;
  require_ok(ls_read_preset("redis", &preset, &error), error);
  const OwnedPreset redis(preset);
  CHECK(text_of(ls_preset_name(preset)) == "redis");
  CHECK(ls_read_preset("no-such-server", &preset, &error) == LS_ERROR_NOT_FOUND);
  CHECK(preset == nullptr);
  CHECK(mentions(error.text, "redis"));  // one of those that there are
  CHECK(ls_read_preset("/no/such.preset", &preset, &error) == LS_ERROR_NOT_FOUND);
  CHECK(ls_read_preset("/dev/zero", &preset, &error) == LS_ERROR_UNSUPPORTED);
  CHECK(ls_read_preset("", &preset, &error) == LS_ERROR_NOT_FOUND);

  const TempFolder folder;
  const std::string path = (folder.path() / "shop.preset").string();
  std::ofstream(path) << "preset shop 1\nmatch a\nlabel a = b:u7\n";
  CHECK(ls_read_preset(path.c_str(), &preset, &error) == LS_ERROR_MALFORMED);
  CHECK(mentions(error.text, path + ", line 3: "));
  std::ofstream(path) << shop_preset(80);
  std::filesystem::permissions(path, std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  CHECK(ls_read_preset(path.c_str(), &preset, &error) == LS_ERROR_PERMISSION);
  std::filesystem::permissions(path, std::filesystem::perms::others_write,
                               std::filesystem::perm_options::remove);
  require_ok(ls_read_preset(path.c_str(), &preset, &error), error);
  const OwnedPreset shop(preset);
  CHECK(text_of(ls_preset_name(preset)) == "shop");
}

}  // namespace labelscope::test
