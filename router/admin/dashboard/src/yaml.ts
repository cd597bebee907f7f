// Colours for YAML, a line at a time, and one change of a configuration. Nothing here parses YAML: a line that is read wrongly has
// other colours and nothing else, and a file of an unusual form is not changed.

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
  ["number", /(?<![\w.:-])(?:-?\d+(?:\.\d+)?(?:ms|s|m|h)?|true|false|null|~)(?![\w.:/-])/y],
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
    found ??= { kind: "plain", text: /^(\s+|[\w.$/@'-]+|.)/su.exec(line.slice(at))![0] };
    const last = out.at(-1);
    if (found.kind === "plain" && last?.kind === "plain") last.text += found.text;
    else out.push(found);
    at += found.text.length;
  }
  return out;
}

export const kRecordingYaml = "global:\n  services:\n    router_replay: {enabled: true}";

/// The line of a mapping's key without a value: "  services:" and perhaps a comment.
const opens = (line: string, key: string, indent: string) => new RegExp(`^${indent}${key}:\\s*(#.*)?$`).test(line);
const indentOf = (line: string) => /^ */.exec(line)![0];
const isBlank = (line: string) => /^\s*(#.*)?$/.test(line);

/// The number of the first line behind the block that a line opens.
function endOf(lines: string[], opener: number): number {
  const indent = indentOf(lines[opener]!).length;
  let end = opener + 1;
  while (end < lines.length && (isBlank(lines[end]!) || indentOf(lines[end]!).length > indent)) ++end;
  return end;
}

/// "enabled: true" as the child of a block, or inside of braces on one line that have no further braces.
const kSetting = /^(\s*(?:router_replay:\s*\{(?:[^{}"'#]*,)?\s*)?enabled:\s*)(true|false)((?:\s*[,}].*|\s+#.*|\s*))$/;

/// The number of the line that has the section's own setting; null if it has none of that form.
function settingOf(lines: string[], opener: number): number | null {
  if (!opens(lines[opener]!, "router_replay", indentOf(lines[opener]!))) return kSetting.test(lines[opener]!) ? opener : null;
  const end = endOf(lines, opener);
  const child = lines.slice(opener + 1, end).find((line) => !isBlank(line));
  if (!child) return null;
  for (let i = opener + 1; i < end; ++i)
    if (lines[i]!.startsWith(`${indentOf(child)}enabled:`)) return kSetting.test(lines[i]!) ? i : null;
  return null;
}

/// The file with the record switched on or off; null if it is written in a way that this cannot change.
export function withRecording(text: string, on: boolean): string | null {
  const lines = text.split("\n");
  const at = lines.findIndex((line) => /^global:/.test(line));
  if (at < 0) return `${text.replace(/\n*$/, "\n")}${kRecordingYaml.replace("true", String(on))}\n`;
  if (!opens(lines[at]!, "global", "")) return null;
  const globalEnd = endOf(lines, at);
  const child = lines.slice(at + 1, globalEnd).find((line) => !isBlank(line));
  const indent = child ? indentOf(child) : "  ";
  const services = lines.findIndex((line, i) => i > at && i < globalEnd && line.startsWith(`${indent}services:`));
  if (services < 0) {
    lines.splice(at + 1, 0, `${indent}services:`, `${indent}  router_replay: {enabled: ${on}}`);
    return lines.join("\n");
  }
  if (!opens(lines[services]!, "services", indent)) return null;
  const servicesEnd = endOf(lines, services);
  const service = lines.slice(services + 1, servicesEnd).find((line) => !isBlank(line));
  const deeper = service ? indentOf(service) : `${indent}  `;
  const replay = lines.findIndex((line, i) => i > services && i < servicesEnd && line.startsWith(`${deeper}router_replay:`));
  if (replay < 0) {
    lines.splice(services + 1, 0, `${deeper}router_replay: {enabled: ${on}}`);
    return lines.join("\n");
  }
  const setting = settingOf(lines, replay);
  if (setting === null) return null;
  lines[setting] = lines[setting]!.replace(kSetting, `$1${on}$3`);
  return lines.join("\n");
}
