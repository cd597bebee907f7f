// Colours for YAML, a line at a time. It does not parse YAML: a line that it reads wrongly has other colours and nothing else.

export type Kind = "plain" | "key" | "string" | "number" | "mark" | "comment" | "reference";
export interface Token {
  kind: Kind;
  text: string;
}

const kPatterns: [Kind, RegExp][] = [
  ["comment", /(?<=^|\s)#.*/y],
  ["string", /"(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?/y],
  ["reference", /\$\{[^}]*\}?|[&*][\w-]+/y],
  ["key", /[\w.$/-]+(?=\s*:(?:\s|$))/y],
  ["number", /(?<![\w.-])(?:-?\d+(?:\.\d+)?(?:ms|s|m|h)?|true|false|null|~)(?![\w.:/-])/y],
  ["mark", /[-:,[\]{}|>](?=\s|$)|[[\]{},]|---/y],
];

/// The tokens of a line; together they have the line's text.
export function tokensOf(line: string): Token[] {
  const out: Token[] = [];
  let at = 0;
  while (at < line.length) {
    let found: Token | null = null;
    for (const [kind, pattern] of kPatterns) {
      pattern.lastIndex = at;
      const match = pattern.exec(line);
      if (match) {
        found = { kind, text: match[0] };
        break;
      }
    }
    // A whole word or the blanks before the next one, so that no pattern begins within a word.
    found ??= { kind: "plain", text: /^(\s+|[\w.$/@-]+|.)/su.exec(line.slice(at))![0] };
    const last = out.at(-1);
    if (found.kind === "plain" && last?.kind === "plain") last.text += found.text;
    else out.push(found);
    at += found.text.length;
  }
  return out;
}
