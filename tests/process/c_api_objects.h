// The handles of the C API as objects, for its tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/labelscope.h"
#include "support/catch.h"
#include "support/rights.h"
#include "support/target_process.h"

namespace labelscope::test {

template <class T, void (*release)(T*)>
struct Releaser {
  void operator()(T* object) const { release(object); }
};
template <class T, void (*release)(T*)>
using Owned = std::unique_ptr<T, Releaser<T, release>>;

using OwnedTarget = Owned<ls_target, ls_close>;
using OwnedPlan = Owned<ls_plan, ls_free_plan>;
using OwnedThreads = Owned<ls_thread_list, ls_free_threads>;
using OwnedObservation = Owned<ls_observation, ls_free_observation>;
using OwnedPreset = Owned<ls_preset, ls_free_preset>;
using OwnedSnapshot = Owned<ls_snapshot, ls_free_snapshot>;
using OwnedInspection = Owned<ls_inspection, ls_free_inspection>;
using OwnedExplanation = Owned<ls_explanation, ls_free_explanation>;

inline std::string text_of(ls_bytes bytes) {
  REQUIRE(bytes.data != nullptr);
  CHECK(bytes.data[bytes.size] == '\0');
  return {bytes.data, bytes.size};
}

inline void require_ok(ls_error_code code, const ls_error& error) {
  INFO(error.text);
  REQUIRE(code == LS_OK);
  REQUIRE(error.code == LS_OK);
}

inline OwnedTarget open_process(Pid pid) {
  skip_without_ptrace();
  ls_target* target = nullptr;
  ls_error error;
  require_ok(ls_open_process(raw(pid), &target, &error), error);
  return OwnedTarget(target);
}

inline OwnedPlan make_plan(ls_target* target) {
  ls_plan* plan = nullptr;
  ls_error error;
  require_ok(ls_make_plan(target, &plan, &error), error);
  return OwnedPlan(plan);
}

inline OwnedObservation read_thread(const ls_target* target, const ls_plan* plan, Tid tid) {
  ls_observation* seen = nullptr;
  ls_error error;
  require_ok(ls_read_thread(target, plan, raw(tid), &seen, &error), error);
  return OwnedObservation(seen);
}

inline LabelSet labels_of(const ls_observation* seen) {
  LabelSet labels;
  for (std::size_t i = 0; i < ls_label_count(seen); ++i) {
    labels.push_back({text_of(ls_label_key(seen, i)), text_of(ls_label_value(seen, i)),
                      static_cast<std::uint8_t>(ls_label_publisher(seen, i))});
  }
  return labels;
}

// A folder that is there for one test.
class TempFolder {
 public:
  TempFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "labelscope-c-api.XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Dumps a core by gdb's gcore; the process goes on running. Returns an empty path if there is no
// gcore.
inline std::string dump_core(Pid pid, const std::filesystem::path& folder) {
  const std::string prefix = (folder / "core").string();
  const std::string number = std::to_string(raw(pid));
  const std::string command = "gcore -o '" + prefix + "' " + number + " >/dev/null 2>&1";
  const int status = std::system(command.c_str());  // NOLINT(cert-env33-c): a test's own words
  std::string path = prefix + "." + number;
  return status == 0 && std::filesystem::exists(path) ? path : std::string();
}

inline OwnedTarget open_core(const std::string& path, const char* root) {
  ls_target* opened = nullptr;
  ls_error error;
  ls_core_options options{};
  options.size = sizeof(options);
  options.sysroots = &root;
  options.sysroot_count = 1;
  require_ok(ls_open_core(path.c_str(), &options, &opened, &error), error);
  return OwnedTarget(opened);
}

// `own_words` is true for a program that says what is true of it in words of its own.
inline TargetProcess start_target(const std::string& program,
                                  std::vector<std::string> arguments = {}, bool own_words = false) {
  TargetOptions options;
  options.own_words = own_words;
  options.program = program;
  options.arguments = std::move(arguments);
  auto target = TargetProcess::spawn(options);
  if (!target) FAIL(target.error().context);
  return *std::move(target);
}

inline OwnedPreset parse_preset(const std::string& text) {
  ls_preset* preset = nullptr;
  ls_error error;
  require_ok(ls_parse_preset(text.data(), text.size(), &preset, &error), error);
  return OwnedPreset(preset);
}

// What targets/sources/globals.c keeps in variables of the process; `size` is that of its requests.
inline std::string shop_preset(int size) {
  return "preset shop 1\n"
         "match current_request requests\n"
         "only main-thread\n"
         "variant two when requests.size == " +
         std::to_string(size) +
         " set user=32\n"
         "let r = current_request->\n"
         "label route = r+8:str24 class=mid\n"
         "private user = r+$user:cstr\n";
}

inline bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace labelscope::test
