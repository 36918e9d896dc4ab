// Colours. Values of a label: the heaviest seven have a hue each, for the whole profile, so that
// a filter does not change them; the others share grey. Functions have a hue by a hash of where
// they are from.

// Okabe and Ito's colours, which people with any kind of colour blindness can tell apart; all are
// light enough for dark text.
const SAFE = ["#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#7fb0d6"];
const BRIGHT = ["#5aa9e6", "#f4a259", "#6cc08b", "#e5c454", "#b892d8", "#ef7b7b", "#58c4c0"];
export const VALUE_COLORS = 7;
export const OTHER = "#a3a8ae";
// Labels that are not there, and labels that could not be read: hatched, each in its direction.
export const UNSET_COLOR = "#c7cbd1";
export const UNREADABLE_COLOR = "#d9b8b0";

export function valueColor(rank, safe) {
  return rank < VALUE_COLORS ? (safe ? SAFE : BRIGHT)[rank] : OTHER;
}

export function hashOf(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}

// By module the hue, by name the shade: neighbours differ, and libraries show.
export function functionColor(name, module, kind, safe, dark) {
  const shade = (hashOf(name) % 1000) / 1000;
  const light = (dark ? 54 : 68) + 12 * shade;
  if (kind === 2) return `hsl(220 6% ${light}%)`;
  if (kind === 1) return safe ? `hsl(202 60% ${light}%)` : `hsl(${14 + 8 * shade} 62% ${light}%)`;
  const hues = safe ? [38, 44, 50] : [28, 40, 50, 96, 150, 174];
  const hue = hues[hashOf(module) % hues.length];
  return `hsl(${hue + 10 * shade} ${safe ? 72 : 58}% ${light}%)`;
}

// A and B, wherever they are compared: blue and orange, which everybody can tell apart, on light
// and on dark. The style sheet has the same hues for texts.
export const SIDE_COLORS = ["#3c86e0", "#dd7a0c"];
// Standard errors that tell a difference from chance, as in comparison.h.
export const TELLING = 2;

// In the colour of the side that has more. Grey: no difference, or one that may be chance.
export function differenceColor(shareA, shareB, errors, dark) {
  const base = dark ? [86, 91, 99] : [214, 217, 222];
  if (Math.abs(errors) < TELLING) return `rgb(${base.join(" ")})`;
  const ratio = (shareB - shareA) / Math.max(shareA, shareB);
  const target = partsOf(SIDE_COLORS[ratio > 0 ? 1 : 0]);
  const strength = 0.25 + 0.75 * Math.min(1, Math.abs(ratio));
  const mixed = base.map((value, i) => Math.round(value + (target[i] - value) * strength));
  return `rgb(${mixed.join(" ")})`;
}

function partsOf(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// Black or white, whichever is easier to read on an rgb() or #hex colour.
export function textOn(color) {
  let parts;
  if (color.startsWith("#")) parts = partsOf(color);
  else if (color.startsWith("rgb")) parts = color.match(/\d+/g).map(Number);
  else return "#15181c";
  const [r, g, b] = parts.map((value) => {
    const c = value / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  // Between both the ink would be too pale, and white, too: black is not.
  if (light > 0.215) return "#15181c";
  return light > 0.179 ? "#000000" : "#ffffff";
}
