// Tests what the C API says of files that no process has loaded: compliant, broken and hostile
// ones, and which presets they fit.
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "process/c_api_objects.h"
#include "support/paths.h"

namespace labelscope::test {
namespace {

OwnedInspection inspect(const std::string& path,
                        const std::vector<const ls_preset*>& presets = {}) {
  ls_inspection* inspection = nullptr;
  ls_error error;
  require_ok(ls_inspect_file(path.c_str(), presets.data(), presets.size(), &inspection, &error),
             error);
  return OwnedInspection(inspection);
}

ls_error_code refusal(const std::string& path, ls_error& error) {
  auto* inspection = reinterpret_cast<ls_inspection*>(1);
  const ls_error_code code = ls_inspect_file(path.c_str(), nullptr, 0, &inspection, &error);
  CHECK(inspection == nullptr);
  CHECK(mentions(error.text, path));
  return code;
}

}  // namespace

TEST_CASE("c_api_inspect: a library that complies, one that is broken, a file that is none") {
  const OwnedInspection good = inspect(paths::kCustomLabelsLibrary);
  CHECK(ls_inspected_verdict(good.get()) == LS_VERDICT_COMPLIANT);
  CHECK(ls_inspected_source(good.get()) == LS_SOURCE_CUSTOM_LABELS);
  CHECK(text_of(ls_inspected_source_name(good.get())) == "ABI v1");
  CHECK(ls_inspected_finding_count(good.get()) == 0);
  CHECK(ls_inspected_finding_text(good.get(), 0).size == 0);

  const OwnedInspection broken = inspect(std::string(paths::kBrokenTargets) + "/wrong-version");
  CHECK(ls_inspected_verdict(broken.get()) == LS_VERDICT_BROKEN);
  REQUIRE(ls_inspected_finding_count(broken.get()) >= 1);
  CHECK(text_of(ls_inspected_finding_name(broken.get(), 0)) == "version-unknown");
  CHECK_FALSE(text_of(ls_inspected_finding_text(broken.get(), 0)).empty());
  CHECK_FALSE(text_of(ls_inspected_finding_fix(broken.get(), 0)).empty());

  const OwnedInspection otel = inspect(paths::kOtelContexts);
  CHECK(ls_inspected_source(otel.get()) == LS_SOURCE_OTEL_CONTEXT);
  CHECK(ls_inspected_verdict(otel.get()) == LS_VERDICT_COMPLIANT);

  const OwnedInspection none = inspect(paths::kGlobals);
  CHECK(ls_inspected_verdict(none.get()) == LS_VERDICT_NOTHING);
  CHECK(text_of(ls_inspected_build_id(none.get())).find_first_not_of("0123456789abcdef") ==
        std::string::npos);
}

TEST_CASE("c_api_inspect: which presets a file fits, in which version, and why not the others") {
  const OwnedPreset fits = parse_preset(shop_preset(80));
  const OwnedPreset older = parse_preset(shop_preset(81));
  const OwnedPreset other = parse_preset("preset other 1\nmatch no_such_symbol\nlabel a = b:u8\n");
  const OwnedInspection seen = inspect(paths::kGlobals, {fits.get(), older.get(), other.get()});
  CHECK(ls_inspected_preset_fit(seen.get(), 0) == LS_PRESET_FITS);
  CHECK(text_of(ls_inspected_preset_variant(seen.get(), 0)) == "two");
  CHECK(ls_inspected_preset_problem(seen.get(), 0).size == 0);
  CHECK(ls_inspected_preset_fit(seen.get(), 1) == LS_PRESET_OTHER_VERSION);
  CHECK(ls_inspected_preset_variant(seen.get(), 1).size == 0);
  CHECK(mentions(text_of(ls_inspected_preset_problem(seen.get(), 1)), "81"));
  CHECK(ls_inspected_preset_fit(seen.get(), 2) == LS_PRESET_OTHER_FILE);
  CHECK(mentions(text_of(ls_inspected_preset_problem(seen.get(), 2)), "no_such_symbol"));
  CHECK(ls_inspected_preset_fit(seen.get(), 3) == LS_PRESET_OTHER_FILE);
  CHECK(ls_inspected_preset_problem(seen.get(), 3).size == 0);
}

TEST_CASE("c_api_inspect: files that are none, are cut, or must not be opened") {
  const TempFolder folder;
  ls_error error;
  CHECK(refusal("/no/such/file", error) == LS_ERROR_NOT_FOUND);
  CHECK(refusal(folder.path().string(), error) == LS_ERROR_UNSUPPORTED);
  CHECK(refusal("/dev/zero", error) == LS_ERROR_UNSUPPORTED);
  const std::string fifo = (folder.path() / "fifo").string();
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(refusal(fifo, error) == LS_ERROR_UNSUPPORTED);  // opening it would wait for a writer
  const std::string path = (folder.path() / "file").string();
  std::ofstream(path) << "no ELF file";
  CHECK(refusal(path, error) == LS_ERROR_MALFORMED);
  std::ifstream whole(paths::kCustomLabelsLibrary, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(whole)),
                          std::istreambuf_iterator<char>());
  for (const std::size_t size : {std::size_t{4}, std::size_t{64}}) {
    std::ofstream(path, std::ios::binary) << bytes.substr(0, size);
    CHECK(refusal(path, error) == LS_ERROR_MALFORMED);
  }
  // Whatever is left of a file, there is an answer: its symbols may be in what is there.
  for (std::size_t size = 128; size < bytes.size(); size += 997) {
    std::ofstream(path, std::ios::binary) << bytes.substr(0, size);
    ls_inspection* inspection = nullptr;
    const ls_error_code code = ls_inspect_file(path.c_str(), nullptr, 0, &inspection, &error);
    const OwnedInspection held(inspection);
    CHECK((code == LS_OK) == (inspection != nullptr));
    CHECK((code == LS_OK || code == LS_ERROR_MALFORMED));
  }
}

TEST_CASE("c_api_inspect: lists that are wrong") {
  ls_inspection* inspection = nullptr;
  ls_error error;
  const ls_preset* const none[] = {nullptr};
  CHECK(ls_inspect_file("/bin/sh", none, 1, &inspection, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_inspect_file("/bin/sh", nullptr, 1, &inspection, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_inspect_file("/bin/sh", none, SIZE_MAX, &inspection, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_inspect_file(nullptr, nullptr, 0, &inspection, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_inspect_file("/bin/sh", nullptr, 0, nullptr, &error) == LS_ERROR_ARGUMENT);
}

}  // namespace labelscope::test
