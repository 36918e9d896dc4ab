/* Says what a program or library publishes, before any process has loaded it:
 *
 *   inspect_file FILE [PRESET]...
 *
 * First a line with the verdict and the source, separated by a tab; then one for each finding, and
 * one for each preset: its name, whether it fits, and the variant or why not. */
#include <labelscope/labelscope.h>
#include <stdio.h>
#include <string.h>

enum { kMostPresets = 16 };

/* Names in a file may hold control characters, which a terminal must not obey. */
static void print_bytes(FILE* out, ls_bytes bytes) {
  for (size_t i = 0; i < bytes.size; i++) {
    const unsigned char byte = (unsigned char)bytes.data[i];
    fprintf(out, byte >= 0x20 && byte < 0x7f && byte != '\\' ? "%c" : "\\x%02x", byte);
  }
}

static const char* verdict_name(ls_verdict verdict) {
  switch (verdict) {
    case LS_VERDICT_NOTHING:
      return "publishes nothing";
    case LS_VERDICT_BROKEN:
      return "broken";
    case LS_VERDICT_READABLE:
      return "readable";
    case LS_VERDICT_COMPLIANT:
      return "compliant";
  }
  return "a verdict of a newer library";
}

static void print_preset(const ls_inspection* inspection, const ls_preset* preset, size_t index) {
  const ls_preset_fit fit = ls_inspected_preset_fit(inspection, index);
  print_bytes(stdout, ls_preset_name(preset));
  fputs(fit == LS_PRESET_FITS            ? "\tfits\t"
        : fit == LS_PRESET_OTHER_VERSION ? "\tanother version\t"
                                         : "\tanother file\t",
        stdout);
  print_bytes(stdout, fit == LS_PRESET_FITS ? ls_inspected_preset_variant(inspection, index)
                                            : ls_inspected_preset_problem(inspection, index));
  putchar('\n');
}

static void print_inspection(const ls_inspection* inspection) {
  printf("%s\t", verdict_name(ls_inspected_verdict(inspection)));
  print_bytes(stdout, ls_inspected_source_name(inspection));
  putchar('\n');
  for (size_t i = 0; i < ls_inspected_finding_count(inspection); i++) {
    print_bytes(stdout, ls_inspected_finding_name(inspection, i));
    fputs(": ", stdout);
    print_bytes(stdout, ls_inspected_finding_text(inspection, i));
    putchar('\n');
  }
}

int main(int argc, char** argv) {
  ls_error error = {0};
  ls_preset* presets[kMostPresets] = {NULL};
  ls_inspection* inspection = NULL;
  size_t count = 0;
  ls_error_code code = LS_OK;
  if (argc < 2 || argc - 2 > kMostPresets) {
    fputs("usage: inspect_file FILE [PRESET]...\n", stderr);
    return 2;
  }
  while (code == LS_OK && (int)count < argc - 2) {
    code = ls_read_preset(argv[2 + count], &presets[count], &error);
    if (code == LS_OK) count++;
  }
  if (code == LS_OK) {
    code = ls_inspect_file(argv[1], (const ls_preset* const*)presets, count, &inspection, &error);
  }
  if (code == LS_OK) {
    print_inspection(inspection);
    for (size_t i = 0; i < count; i++) print_preset(inspection, presets[i], i);
  } else {
    fputs("inspect_file: ", stderr);
    print_bytes(stderr, (ls_bytes){error.text, strlen(error.text)});
    fputc('\n', stderr);
  }
  ls_free_inspection(inspection);
  for (size_t i = 0; i < count; i++) ls_free_preset(presets[i]);
  return code == LS_OK ? 0 : 1;
}
