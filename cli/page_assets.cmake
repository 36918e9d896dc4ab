# Puts the page together: the modules of cli/format/page become one script, and script, style and
# body become strings of the program. This needs only cmake.
#
#   cmake -DPAGE=cli/format/page -DMODULES=a.js,b.js -DOUTPUT=page_assets.cc -P page_assets.cmake
#
# A module uses only those before it in the list. All of them become one scope, so each name may be
# defined once. Imports and the word "export" are removed.
string(REPLACE "," ";" modules "${MODULES}")
set(script "")
foreach(module IN LISTS modules)
  file(READ ${PAGE}/${module} text)
  string(PREPEND text "\n")
  string(REGEX REPLACE "\nimport [^\"]*\"[^\"]*\"[^\n]*" "" text "${text}")
  string(REPLACE "\nexport " "\n" text "${text}")
  string(APPEND script "\n// ${module}${text}")
endforeach()
set(script "\"use strict\";\n(() => {${script}})();\n")
file(READ ${PAGE}/style.css style)
file(READ ${PAGE}/body.html body)
string(SHA256 script_hash "${script}")
string(SHA256 style_hash "${style}")
file(WRITE ${OUTPUT}.new "// Made by cli/page_assets.cmake.
#include \"cli/format/page/page_assets.h\"

namespace labelscope::cli {
const std::string_view kPageBody = R\"page(${body})page\";
const std::string_view kPageScript = R\"page(${script})page\";
const std::string_view kPageStyle = R\"page(${style})page\";
const std::string_view kPageScriptHash = \"${script_hash}\";
const std::string_view kPageStyleHash = \"${style_hash}\";
}  // namespace labelscope::cli
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
