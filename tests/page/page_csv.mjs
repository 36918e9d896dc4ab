// The table that a page of labelscope would save, of everything in it:  node page_csv.mjs PAGE.html
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { readColumns } from "../../cli/format/page/decode.mjs";
import { csvText } from "../../cli/format/page/exports.mjs";
import { Profile } from "../../cli/format/page/model.mjs";
import { Slice } from "../../cli/format/page/slice.mjs";

const html = readFileSync(process.argv[2], "utf8");
const between = (from, to) => {
  const at = html.indexOf(from) + from.length;
  return html.slice(at, html.indexOf(to, at));
};
const bytes = gunzipSync(Buffer.from(between('id="profile">', "<"), "base64"));
const profile = new Profile(readColumns(bytes), JSON.parse(between('id="facts">', "<")));
const all = Slice.chosen(profile, new Uint32Array(profile.rows.count));
process.stdout.write(csvText(profile, all));
