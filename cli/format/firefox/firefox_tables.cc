// Writes tables of this format: objects with an array for each column.
#include "cli/format/firefox/firefox_tables.h"

#include "base/text.h"
#include "cli/profile/index_table.h"
#include "cli/text/escape.h"

namespace labelscope::cli {
namespace {

// The type of resource (in the viewer's table of resources) of a file with code.
constexpr int kLibrary = 1;

std::string repeated(std::string_view name, const char* value, std::size_t count) {
  std::string column;
  append_array(column, name, count, [value](std::size_t) { return value; });
  return column;
}

}  // namespace

std::string ms_text(std::uint64_t ns) {
  std::string digits = std::to_string(ns % 1'000'000);
  digits.insert(0, 6 - digits.size(), '0');
  return std::to_string(ns / 1'000'000) + '.' + digits;
}

Json FirefoxTables::categories() {
  Json list = Json::array();
  for (const auto& [name, color] :
       {std::pair("User", "yellow"), std::pair("Kernel", "orange"), std::pair("Other", "grey")}) {
    list.push_back({{"name", name}, {"color", color}, {"subcategories", {"Other"}}});
  }
  return list;
}

std::uint32_t FirefoxTables::stack(const std::vector<ShownFrames::Number>& above, Index stack) {
  FrameTree::Node node = FrameTree::kRoot;
  for (const ShownFrames::Number frame : above) node = tree_.child(node, frame);
  auto [known, added] = ends_.try_emplace({node, stack}, node);
  if (added) {
    for (const ShownFrames::Number frame : shown_.stack(stack)) node = tree_.child(node, frame);
    known->second = node;
  }
  return known->second - 1;  // the root is in no table
}

std::uint32_t FirefoxTables::string(const std::string& text) {
  const auto next = static_cast<std::uint32_t>(in_order_.size());
  auto [known, added] = strings_.try_emplace(text, next);
  if (added) in_order_.push_back(&known->first);
  return known->second;
}

std::uint32_t FirefoxTables::lib(Index module) {
  const auto next = static_cast<std::uint32_t>(libs_.size());
  auto [known, added] = lib_numbers_.try_emplace(profile_.modules[module].path, next);
  if (added) libs_.push_back(module);
  return known->second;
}

Json FirefoxTables::libs() {
  for (const ShownFrame& frame : shown_.frames()) {
    if (frame.module != kNoIndex) lib(frame.module);
  }
  return array_json(libs_, [&](Index index) {
    const ProfileModule& module = profile_.modules[index];
    const std::string path = escape_terminal(module.path);
    const std::string name = escape_terminal(base_name(module.path));
    return Json{{"arch", ""},
                {"name", name},
                {"path", path},
                {"debugName", name},
                {"debugPath", path},
                {"breakpadId", ""},
                {"codeId", escape_terminal(module.build_id)}};
  });
}

void FirefoxTables::write(std::ostream& out) {
  using Kind = ShownFrame::Kind;
  const std::vector<ShownFrame>& frames = shown_.frames();
  const std::size_t count = frames.size();
  std::string text = "{\"stackTable\":{\"length\":" + std::to_string(tree_.size() - 1);
  append_array(text, "frame", tree_.size() - 1, [&](std::size_t i) {
    return std::to_string(tree_.name_of(static_cast<FrameTree::Node>(i + 1)));
  });
  append_array(text, "prefix", tree_.size() - 1, [&](std::size_t i) {
    const FrameTree::Node parent = tree_.parent(static_cast<FrameTree::Node>(i + 1));
    return parent == FrameTree::kRoot ? std::string("null") : std::to_string(parent - 1);
  });
  // A frame is a function here: its place in the function is not written.
  text += "},\n\"frameTable\":{\"length\":" + std::to_string(count);
  append_array(text, "func", count, [](std::size_t i) { return std::to_string(i); });
  append_array(text, "category", count, [&](std::size_t i) {
    const Kind kind = frames[i].kind;
    return std::to_string(kind == Kind::kKernel ? kKernel : kind == Kind::kNote ? kOther : kUser);
  });
  text += repeated("subcategory", "0", count) + repeated("address", "-1", count) +
          repeated("inlineDepth", "0", count);
  for (const char* column : {"nativeSymbol", "innerWindowID", "line", "column"}) {
    text += repeated(column, "null", count);
  }
  text += "},\n\"funcTable\":{\"length\":" + std::to_string(count);
  append_array(text, "name", count, [&](std::size_t i) {
    return std::to_string(string(escape_terminal(frames[i].name)));
  });
  append_array(text, "resource", count, [&](std::size_t i) {
    return frames[i].module == kNoIndex ? "-1" : std::to_string(lib(frames[i].module));
  });
  std::unordered_map<std::string, std::size_t, SecretHash> sources;
  std::vector<std::uint32_t> source_names;
  append_array(text, "source", count, [&](std::size_t i) -> std::string {
    if (frames[i].file.empty()) return "null";
    const std::string file = escape_terminal(frames[i].file);
    auto [known, added] = sources.try_emplace(file, source_names.size());
    if (added) source_names.push_back(string(file));
    return std::to_string(known->second);
  });
  text += repeated("isJS", "false", count) + repeated("relevantForJS", "false", count) +
          repeated("lineNumber", "null", count) + repeated("columnNumber", "null", count);
  text += "},\n\"sources\":{\"length\":" + std::to_string(source_names.size());
  append_array(text, "filename", source_names.size(),
               [&](std::size_t i) { return std::to_string(source_names[i]); });
  text += repeated("uuid", "null", source_names.size());
  // Each file is one resource.
  text += "},\n\"resourceTable\":{\"length\":" + std::to_string(libs_.size());
  append_array(text, "lib", libs_.size(), [](std::size_t i) { return std::to_string(i); });
  append_array(text, "name", libs_.size(), [&](std::size_t i) {
    return std::to_string(string(escape_terminal(base_name(profile_.modules[libs_[i]].path))));
  });
  append_array(text, "type", libs_.size(), [](std::size_t) { return std::to_string(kLibrary); });
  text += repeated("host", "null", libs_.size());
  text +=
      R"(},"nativeSymbols":{"length":0,"libIndex":[],"address":[],"name":[],"functionSize":[]})";
  append_array(text, "stringArray", in_order_.size(),
               [&](std::size_t i) { return Json(*in_order_[i]).dump(); });
  out << text << '}';
}

}  // namespace labelscope::cli
