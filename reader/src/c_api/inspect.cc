// This is the part of the C API for what a file publishes that no process has loaded.
#include "labelscope/inspect.h"

#include <fcntl.h>

#include <cerrno>
#include <span>

#include "c_api/boundary.h"
#include "c_api/objects.h"
#include "elf/elf_image.h"
#include "elf/regular_file.h"
#include "sources/label_source.h"

namespace labelscope::c_api {
namespace {

static_assert(static_cast<int>(Verdict::kNothing) == LS_VERDICT_NOTHING &&
              static_cast<int>(Verdict::kBroken) == LS_VERDICT_BROKEN &&
              static_cast<int>(Verdict::kReadable) == LS_VERDICT_READABLE &&
              static_cast<int>(Verdict::kCompliant) == LS_VERDICT_COMPLIANT);

Error of_file(const std::string& path, const Error& error) {
  return {error.code, path + ": " + error.context};
}

Result<std::unique_ptr<ls_inspection>> inspect(const std::string& path,
                                               std::span<const ls_preset* const> presets) {
  auto file = open_regular_file(path);
  if (!file) return of_file(path, file.error());
  UniqueFd again(::fcntl(file->get(), F_DUPFD_CLOEXEC, 0));
  if (!again.valid()) return system_error(errno, path + ": duplicating the file's descriptor");
  auto inspection = std::make_unique<ls_inspection>();
  auto seen = inspect_file(*std::move(file), path);
  if (!seen) return of_file(path, seen.error());
  inspection->file = *std::move(seen);
  inspection->fits.resize(presets.size());
  if (presets.empty()) return inspection;
  const auto image = ElfImage::open(std::move(again));
  for (std::size_t i = 0; i < presets.size(); ++i) {
    PresetFit& fit = inspection->fits[i];
    if (image) {
      fit = fit_preset(presets[i]->preset, *image);
    } else {
      fit.why_not = image.error().context;
    }
  }
  return inspection;
}

const Finding* finding_at(const ls_inspection* inspection, std::size_t index) {
  return element(inspection == nullptr ? nullptr : &inspection->file.findings, index);
}

const PresetFit* fit_at(const ls_inspection* inspection, std::size_t preset) {
  return element(inspection == nullptr ? nullptr : &inspection->fits, preset);
}

}  // namespace
}  // namespace labelscope::c_api

using namespace labelscope;         // NOLINT(google-build-using-namespace): C functions have none
using namespace labelscope::c_api;  // NOLINT(google-build-using-namespace): the same

ls_error_code ls_inspect_file(const char* path, const ls_preset* const* presets,
                              size_t preset_count, ls_inspection** inspection, ls_error* error) {
  return answer(
      "ls_inspect_file: an argument is NULL, or the list of presets has a null pointer, "
      "or more than 4096 entries",
      path != nullptr && is_list(presets, preset_count), inspection, error, [&] {
        return inspect(path, {presets, preset_count});
      });
}

void ls_free_inspection(ls_inspection* inspection) { delete inspection; }

ls_verdict ls_inspected_verdict(const ls_inspection* inspection) {
  return inspection == nullptr ? LS_VERDICT_NOTHING
                               : static_cast<ls_verdict>(inspection->file.verdict);
}

enum ls_source ls_inspected_source(const ls_inspection* inspection) {
  return inspection == nullptr ? ls_source{} : inspection->file.source;
}

ls_bytes ls_inspected_source_name(const ls_inspection* inspection) {
  if (inspection == nullptr) return no_bytes();
  return bytes_of(std::string_view(find_source(inspection->file.source)->about.name));
}

ls_bytes ls_inspected_build_id(const ls_inspection* inspection) {
  return inspection == nullptr ? no_bytes() : bytes_of(inspection->file.build_id);
}

size_t ls_inspected_finding_count(const ls_inspection* inspection) {
  return inspection == nullptr ? 0 : inspection->file.findings.size();
}

ls_bytes ls_inspected_finding_name(const ls_inspection* inspection, size_t finding) {
  const Finding* found = finding_at(inspection, finding);
  return found == nullptr ? no_bytes() : bytes_of(finding_name(*found));
}

ls_bytes ls_inspected_finding_text(const ls_inspection* inspection, size_t finding) {
  const Finding* found = finding_at(inspection, finding);
  return found == nullptr ? no_bytes() : bytes_of(found->text);
}

ls_bytes ls_inspected_finding_fix(const ls_inspection* inspection, size_t finding) {
  const Finding* found = finding_at(inspection, finding);
  return found == nullptr ? no_bytes() : bytes_of(found->fix);
}

ls_preset_fit ls_inspected_preset_fit(const ls_inspection* inspection, size_t preset) {
  const PresetFit* fit = fit_at(inspection, preset);
  if (fit == nullptr || !fit->matches) return LS_PRESET_OTHER_FILE;
  return fit->fits() ? LS_PRESET_FITS : LS_PRESET_OTHER_VERSION;
}

ls_bytes ls_inspected_preset_variant(const ls_inspection* inspection, size_t preset) {
  const PresetFit* fit = fit_at(inspection, preset);
  return fit == nullptr ? no_bytes() : bytes_of(fit->variant);
}

ls_bytes ls_inspected_preset_problem(const ls_inspection* inspection, size_t preset) {
  const PresetFit* fit = fit_at(inspection, preset);
  return fit == nullptr ? no_bytes() : bytes_of(fit->why_not);
}
