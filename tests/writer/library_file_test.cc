// Tests libcustomlabels.so, libthreadcontext.so and libotelcontext.so as readers see them: files
// with a few symbols, a relocation and a name.
#include "writer/library_file.h"

#include "customlabels/label_abi.h"
#include "customlabels/otel_context.h"
#include "customlabels/thread_context.h"
#include "support/catch.h"
#include "support/paths.h"

TEST_CASE("library_file: the version symbol is four read-only bytes with the value 1") {
  const LibraryFile file(paths::kCustomLabelsLibrary);
  REQUIRE(file.defined.count(CUSTOM_LABELS_VERSION_SYMBOL) == 1);
  const GElf_Sym& symbol = file.defined.at(CUSTOM_LABELS_VERSION_SYMBOL);
  CHECK(GELF_ST_TYPE(symbol.st_info) == STT_OBJECT);
  CHECK(symbol.st_size == 4);
  CHECK(file.read_only_word(symbol.st_value) == 1U);
}

TEST_CASE("library_file: the current set is a thread-local symbol of eight bytes") {
  const LibraryFile file(paths::kCustomLabelsLibrary);
  REQUIRE(file.defined.count(CUSTOM_LABELS_CURRENT_SET_SYMBOL) == 1);
  const GElf_Sym& symbol = file.defined.at(CUSTOM_LABELS_CURRENT_SET_SYMBOL);
  CHECK(GELF_ST_TYPE(symbol.st_info) == STT_TLS);
  CHECK(symbol.st_size == 8);
}

TEST_CASE("library_file: the current set is reached by a TLS descriptor that names it") {
#if !LIBCUSTOMLABELS_TLSDESC
  skip_test("this compiler cannot make TLS descriptors");
#endif
  const LibraryFile file(paths::kCustomLabelsLibrary);
  CHECK(file.descriptors_of(CUSTOM_LABELS_CURRENT_SET_SYMBOL) == 1);
}

TEST_CASE("library_file: nothing is exported but the API and the two symbols of the ABI") {
  CHECK(LibraryFile(paths::kCustomLabelsLibrary).exported() ==
        std::set<std::string>{CUSTOM_LABELS_VERSION_SYMBOL,
                              CUSTOM_LABELS_CURRENT_SET_SYMBOL,
                              "custom_labels_thread_prepare",
                              "custom_labels_thread_set",
                              "custom_labels_thread_update",
                              "custom_labels_thread_replace",
                              "custom_labels_thread_remove",
                              "custom_labels_thread_clear",
                              "custom_labels_thread_set_trace",
                              "custom_labels_thread_clear_trace",
                              "custom_labels_thread_enter",
                              "custom_labels_thread_enter_set",
                              "custom_labels_thread_leave",
                              "custom_labels_new",
                              "custom_labels_free",
                              "custom_labels_current",
                              "custom_labels_replace",
                              "custom_labels_clone",
                              "custom_labels_clone_with_capacity",
                              "custom_labels_count",
                              "custom_labels_get",
                              "custom_labels_at",
                              "custom_labels_set",
                              "custom_labels_update",
                              "custom_labels_delete",
                              "custom_labels_remove",
                              "custom_labels_clear",
                              "custom_labels_run_with",
                              "custom_labels_debug_string",
                              "custom_labels_careful_set",
                              "custom_labels_careful_delete",
                              "custom_labels_careful_run_with"});
}

TEST_CASE("library_file: file name and SONAME end in .so, as readers look for them") {
  const std::string path = paths::kCustomLabelsLibrary;
  CHECK(path.substr(path.rfind('/') + 1) == "libcustomlabels.so");
  CHECK(LibraryFile(paths::kCustomLabelsLibrary).sonames ==
        std::vector<std::string>{"libcustomlabels.so"});
}

TEST_CASE("library_file: each loads the C library alone, and not the unwinder of exceptions") {
  for (const char* path :
       {paths::kCustomLabelsLibrary, paths::kThreadContextLibrary, paths::kOtelContextLibrary}) {
    INFO(path);
    for (const std::string& name : LibraryFile(path).needed) {
      INFO(name);
      CHECK(
          (name.starts_with("libc.") || name.starts_with("ld-") || name.starts_with("libpthread")));
    }
  }
}

TEST_CASE("library_file: the trace context is a thread-local symbol of 64 bytes") {
  const LibraryFile file(paths::kThreadContextLibrary);
  REQUIRE(file.defined.count(THREAD_CONTEXT_SYMBOL) == 1);
  const GElf_Sym& symbol = file.defined.at(THREAD_CONTEXT_SYMBOL);
  CHECK(GELF_ST_TYPE(symbol.st_info) == STT_TLS);
  CHECK(symbol.st_size == 64);
#if LIBCUSTOMLABELS_TLSDESC
  CHECK(file.tls_descriptors == std::vector<std::string>{THREAD_CONTEXT_SYMBOL});
#endif
}

TEST_CASE("library_file: the trace context's library exports it and its API, and is no publisher") {
  CHECK(LibraryFile(paths::kThreadContextLibrary).exported() ==
        std::set<std::string>{THREAD_CONTEXT_SYMBOL, "thread_context_record", "thread_context_put",
                              "thread_context_put_all", "thread_context_set_tag",
                              "thread_context_clear", "thread_context_checksum",
                              "thread_context_read"});
  // Readers of labels look into a file with that name.
  const std::string path = paths::kThreadContextLibrary;
  CHECK(path.find("customlabels", path.rfind('/')) == std::string::npos);
}

TEST_CASE(
    "library_file: OpenTelemetry's record is pointed to by a thread-local symbol of 8 bytes") {
  const LibraryFile file(paths::kOtelContextLibrary);
  REQUIRE(file.defined.count(OTEL_CONTEXT_SYMBOL) == 1);
  const GElf_Sym& symbol = file.defined.at(OTEL_CONTEXT_SYMBOL);
  CHECK(GELF_ST_TYPE(symbol.st_info) == STT_TLS);
  CHECK(GELF_ST_BIND(symbol.st_info) == STB_GLOBAL);
  CHECK(symbol.st_size == 8);
#if LIBCUSTOMLABELS_TLSDESC
  CHECK(file.descriptors_of(OTEL_CONTEXT_SYMBOL) == 1);
  CHECK(file.other_tls_relocations == 0);
#endif
}

TEST_CASE("library_file: OpenTelemetry's library exports the pointer and its API") {
  CHECK(LibraryFile(paths::kOtelContextLibrary).exported() ==
        std::set<std::string>{OTEL_CONTEXT_SYMBOL, "otel_context_attach", "otel_context_set",
                              "otel_context_remove", "otel_context_detach", "otel_context_current",
                              "otel_context_result_text", "otel_process_context_publish",
                              "otel_process_context_key", "otel_process_context_withdraw"});
  const std::string path = paths::kOtelContextLibrary;
  CHECK(path.find("customlabels", path.rfind('/')) == std::string::npos);
}
