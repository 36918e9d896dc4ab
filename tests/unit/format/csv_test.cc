// Tests the table as CSV, read back by RFC 4180.
#include <map>
#include <sstream>

#include "cli/format/format.h"
#include "support/catch.h"
#include "unit/format/profile_maker.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;

namespace {

using Row = std::map<std::string, std::string>;  // by column

// Returns the cells of all lines. It is strict: quotes only around a whole cell, doubled inside;
// lines end in CRLF.
std::vector<std::vector<std::string>> parse(const std::string& text) {
  std::vector<std::vector<std::string>> lines{{}};
  for (std::size_t i = 0; i < text.size();) {
    std::string cell;
    if (text[i] == '"') {
      for (++i;; ++i) {
        REQUIRE(i < text.size());
        if (text[i] != '"') {
          cell += text[i];
        } else if (text[i + 1] == '"') {
          cell += text[++i];
        } else {
          break;
        }
      }
      ++i;
    } else {
      for (; text[i] != ',' && text[i] != '\r'; ++i) {
        REQUIRE(text[i] != '"');
        REQUIRE(static_cast<unsigned char>(text[i]) >= 0x20);
        cell += text[i];
      }
    }
    lines.back().push_back(cell);
    if (text[i] == ',') {
      ++i;
      continue;
    }
    REQUIRE(text.substr(i, 2) == "\r\n");
    i += 2;
    if (i < text.size()) lines.emplace_back();
  }
  return lines;
}

std::vector<Row> csv(const Profile& profile, const RenderOptions& options = {}) {
  std::ostringstream out;
  REQUIRE(render_csv(weighed(profile, 10), options, out).has_value());
  const auto lines = parse(out.str());
  std::vector<Row> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    REQUIRE(lines[i].size() == lines[0].size());
    Row row;
    for (std::size_t k = 0; k < lines[i].size(); ++k) {
      REQUIRE(row.emplace(lines[0][k], lines[i][k]).second);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

TEST_CASE(
    "csv: a row for each function and label set, with time, samples and where they are from") {
  SmallProfile small;
  small.labelled({{"tenant", "42"}}).count = 2;
  // A sample with another caller belongs to the same row, one with another function does not.
  small.sample(small.shop_thread, small.stack({0}), 1, LS_LABELLED);
  small.sample(small.shop_thread, small.stack({1}), 1, LS_LABELLED);
  const auto rows = csv(small.profile);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].at("function") == "main");
  CHECK(rows[1] == Row{{"time_ns", "30"},
                       {"samples", "3"},
                       {"function", "work"},
                       {"module", "/opt/shop/shop"},
                       {"stack_end", "complete"},
                       {"outcome", "labelled"},
                       {"comm", "shop"},
                       {"pid", "100"},
                       {"thread_name", "worker"},
                       {"thread_id", "101"},
                       {"tenant", "42"}});
}

TEST_CASE("csv: what another tool has counted is no time") {
  SmallProfile small;
  small.labelled({});
  small.profile.values = {{"inuse_space", "bytes"}};
  const auto rows = csv(small.profile);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at("inuse_space_bytes") == "10");
  CHECK_FALSE(rows[0].contains("time_ns"));
}

TEST_CASE("csv: a label that is not there, could not be read, or is empty") {
  SmallProfile small;
  small.labelled({{"a", ""}});
  small.labelled({{"b", "1"}});
  small.sample(small.shop_thread, small.work_stack, kNoIndex, LS_UNREADABLE_TORN);
  std::map<std::string, std::string> a;
  for (const Row& row : csv(small.profile)) a[row.at("outcome") + ' ' + row.at("b")] = row.at("a");
  CHECK(a == std::map<std::string, std::string>{{"labelled <none>", "<empty>"},
                                                {"labelled 1", "<none>"},
                                                {"torn <unreadable>", "<unreadable>"}});
}

TEST_CASE("csv: no cell is a formula, or becomes two cells") {
  for (const std::string begin : {"=", "+", "-", "@", "'", "\xEF\xBC\x9D"}) {
    SmallProfile small;
    small.labelled({{begin + "key", begin + "1+1"}});
    const auto rows = csv(small.profile);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].at("'" + begin + "key") == "'" + begin + "1+1");
  }
  SmallProfile small;
  small.labelled({{"k", "\"a\",\"b;=c\r\n\t\""}});
  CHECK(csv(small.profile)[0].at("k") == "\"a\",\"b\\x3b=c\\x0d\\x0a\\x09\"");
}

TEST_CASE("csv: keys that are named like our columns, or alike, have columns of their own") {
  SmallProfile small;
  small.labelled({{"pid", "7"}, {"label.pid", "8"}, {"", "9"}, {"<empty>", "10"}});
  const auto rows = csv(small.profile);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at("pid") == "100");
  CHECK(rows[0].at("label.pid") == "8");
  CHECK(rows[0].at("label.label.pid") == "7");
  CHECK(rows[0].at("<empty>") == "9");
  CHECK(rows[0].at("label.<empty>") == "10");
}

TEST_CASE("csv: groups choose the columns, and rows that differ in other labels are one") {
  SmallProfile small;
  small.labelled({{"tenant", "1"}, {"request", "a"}});
  small.labelled({{"tenant", "1"}, {"request", "b"}});
  const auto rows = csv(small.profile, {.group_by = {"tenant"}});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at("time_ns") == "20");
  CHECK_FALSE(rows[0].contains("request"));
}
