// Difficult strings for tokenizers: real text from texts.mjs, cut, joined and damaged.

import { kTexts } from "./texts.mjs";

const range = (first, last) => (random) => String.fromCodePoint(first + random.below(last - first + 1));

/// Returns any code point that can be encoded in UTF-8, that is all except surrogates.
function any(random) {
  const c = random.below(0x110000 - 0x800);
  return String.fromCodePoint(c < 0xd800 ? c : c + 0x800);
}

const of = (...list) => (random) => random.pick(list);

const kFamily = "\u{1F468}\u200D\u{1F469}\u200D\u{1F467}";

// Each function returns a short piece to insert.
const kNoise = [
  range(0x20, 0x7e), // ASCII
  range(0x20, 0x7e),
  range(0x00, 0x1f), // controls
  range(0x7f, 0xff), // controls, Latin-1
  range(0x100, 0x24f), // Latin
  range(0x1c4, 0x1cc), // letters in title case
  range(0x300, 0x36f), // combining marks
  range(0x300, 0x345),
  range(0x370, 0x5ff), // Greek to Hebrew
  range(0x600, 0x8ff), // Arabic
  range(0x900, 0xdff), // Brahmic scripts
  range(0xe00, 0x10ff), // Thai to Georgian
  range(0x1100, 0x11ff), // jamo
  range(0x1200, 0x1cff),
  range(0x1d00, 0x1fff), // phonetic, extended Latin and Greek
  range(0x2000, 0x206f), // spaces, direction, joiners
  range(0x2070, 0x2bff), // symbols
  range(0x2c00, 0x2fff),
  range(0x3000, 0x33ff), // kana, squared words
  range(0x3400, 0x9fff), // ideographs
  range(0xa000, 0xabff),
  range(0xac00, 0xd7a3), // syllables of Hangul
  range(0xe000, 0xf8ff), // private use
  range(0xf900, 0xfaff), // compatibility ideographs
  range(0xfb00, 0xfdff), // ligatures
  range(0xfe00, 0xffff), // variation selectors, half and full width
  range(0x10000, 0x1ffff),
  range(0x1d100, 0x1d7ff), // music and mathematics
  range(0x1f000, 0x1faff), // emoji
  range(0x20000, 0x3134f),
  range(0xe0000, 0xe01ef), // tags
  any,
  any,
  of(" ", " ", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\u00A0", "\u3000", "\u2028", "\u0085", "\v", "\f"),
  of("\u200B", "\u200C", "\u200D", "\u200E", "\u200F", "\u202E", "\u2060", "\uFEFF", "\u00AD"),
  of("\u0000", "\uFFFD", "\uFFFE"),
  of("\u0301", "\u0308", "\u0327", "\u0345", "\u3099", "\u302E", "\u{1D165}", "\u{16FF0}"),
  of("\u05B0", "\u064B", "\u093C", "\u094D", "\u0E33"),
  of("'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "\u2019s", "''", "'"),
  of("\u0130", "\u0131", "\u00DF", "\u1E9E", "\u03A3\u0391\u03A3", "\u03C2"),
  of("\uFB03", "\u0149", "\u01C5", "\u1F80", "\u212A", "\u2126", "\u00BD", "\u2163"),
  of(kFamily, "\u{1F1E9}\u{1F1EA}", "\u{1F1E9}", "\u2764\uFE0F"),
  of("\u{1F44D}\u{1F3FD}", "1\uFE0F\u20E3", "\u{1F3F4}\u{E0067}\u{E007F}"),
  of("http://x.y/z?q=1", "a@b.co", "1,234.5", "0x1F", "e.g.", "U.S.A."),
  of("C++", "#!", "->", "...", "$1", "\u20AC5", "\u00B15"),
  of("\u2581", "\u2581\u2581", "\u0120", "\u010A", "##", "##a", "<0x0A>", "<0xC3>", "<", ">", "[", "]", "|"),
];

const kRuns = [
  ...[" ", "\n", "\t", "\r\n", "a", "A", "x", "0", "7", ".", "-", "=", "ab", "'s", " a", "a "],
  ...["\u00E9", "e\u0301", "\u0301", "\u4E2D", "\uAC01", "\u{1F600}", "\u2581", "\u0000"],
];

const kMarks = /\p{M}/gu;

export class Strings {
  #random;
  #added;
  /// `added`: the contents of the tokenizer's added tokens.
  constructor(random, added) {
    this.#random = random;
    this.#added = added.length > 0 ? added : ["[MASK]"];
  }

  next() {
    const random = this.#random;
    if (random.once(12)) return this.#alone();
    if (random.once(80)) return this.#long();
    let text = this.#spoiled(this.#slice());
    while (random.once(3)) text += random.pick(["", " ", "\n"]) + this.#spoiled(this.#slice());
    return text;
  }

  /// Returns a text, or two for a pair.
  row() {
    const row = { text: this.next() };
    if (this.#random.once(5)) row.pair = this.next();
    return row;
  }

  #alone() {
    const random = this.#random;
    switch (random.below(5)) {
      case 0:
        return random.once(5) ? "" : random.pick(kNoise)(random);
      case 1:
        return random.pick(kRuns).repeat(1 + random.below(random.once(4) ? 300 : 20));
      case 2:
        return this.#token();
      case 3:
        return this.#token() + this.#token();
      default: {
        let text = "";
        for (let i = random.below(12); i >= 0; --i) text += random.pick(kNoise)(random);
        return text;
      }
    }
  }

  // Returns a text longer than any buffer in which a tokenizer may process its input.
  #long() {
    const random = this.#random;
    const bytes = 1000 + random.below(7000);
    const space = random.pick([" ", " ", "\n", ""]);
    let text = "";
    while (text.length < bytes) text += space + this.#spoiled(this.#slice());
    return text;
  }

  #slice() {
    const random = this.#random;
    const text = [...random.pick(kTexts)];
    const length = 1 + random.below(random.once(4) ? text.length : 30);
    const begin = random.below(Math.max(1, text.length - length));
    return text.slice(begin, begin + length).join("");
  }

  #spoiled(text) {
    const random = this.#random;
    let spoiled = text;
    for (let i = random.below(4); i > 0; --i) spoiled = this.#mutated(spoiled);
    return spoiled;
  }

  #mutated(text) {
    const random = this.#random;
    const points = [...text];
    const at = random.below(points.length + 1);
    const put = (piece, over = 0) => (points.splice(at, over, piece), points.join(""));
    switch (random.below(14)) {
      case 0:
      case 1:
      case 2:
        return put(random.pick(kNoise)(random));
      case 3:
        return put(random.pick(kNoise)(random), 1 + random.below(3));
      case 4:
        return put("", 1 + random.below(3));
      case 5:
        return put(points[random.below(points.length)] ?? "");
      case 6:
        return put(random.pick(kRuns).repeat(1 + random.below(random.once(6) ? 120 : 6)));
      case 7:
      case 8:
        return put(this.#token());
      case 9:
        return random.flip() ? text.toUpperCase() : text.toLowerCase();
      case 10:
        return text.normalize(random.pick(["NFC", "NFD", "NFD", "NFKC", "NFKD"]));
      case 11:
        return text.replaceAll(" ", random.pick(["", "  ", "\n", "\u00A0", " \u0301"]));
      case 12:
        return text.replace(kMarks, (mark) => random.pick([mark + mark, "", mark]));
      default:
        return random.pick([" ", "", "\n"]) + text + random.pick([" ", "", "  "]);
    }
  }

  // Returns an added token unchanged, with spaces, in another case, or broken.
  #token() {
    const random = this.#random;
    const token = random.pick(this.#added);
    switch (random.below(8)) {
      case 0:
        return ` ${token} `;
      case 1:
        return `${random.pick([" ", "\t", "\n", "  ", "\u3000"])}${token}${random.pick(["", " ", "\n", "x"])}`;
      case 2:
        return random.flip() ? token.toLowerCase() : token.toUpperCase();
      case 3:
        return [...token].slice(0, -1).join("");
      default:
        return token;
    }
  }
}
