// Pages show parts of configurations in fences of the language `yaml`. Put into the rest of one, each has to be read
// without a key that is unknown.

const kModel = "  defaults: {default_model: m}\n  models:\n    - {name: m, backend_refs: [{name: echo, type: echo}]}\n";
const kDecision = "routing:\n  decisions:\n    - name: d\n      modelRefs: [{model: m}]\n";

const has = (text, key) => new RegExp(`^${key}:`, "m").test(text);
const indented = (text, by) => text.replace(/^(?=.)/gm, " ".repeat(by));

/// What is around a part that begins at `decisions:`, at `plugins:` or at `management_api:`.
function rooted(part) {
  if (has(part, "decisions")) return `routing:\n${indented(part, 2)}`;
  if (has(part, "plugins") || has(part, "difficulty")) return `${kDecision}${indented(part, 6)}`;
  if (has(part, "management_api")) return `global:\n  services:\n${indented(part, 4)}`;
  return part;
}

/// A whole configuration that has the part in it.
export function completed(part) {
  let text = `${rooted(part)}\n`;
  if (!has(text, "providers")) text += `providers:\n${kModel}`;
  const first = /^  models:\n +- \{?name: ([\w.-]+)/m.exec(text)?.[1];
  if (!/^  defaults:/m.test(text)) text = text.replace(/^providers:\n/m, `$&  defaults: {default_model: ${first}}\n`);
  return has(text, "version") ? text : `version: v0.3\n${text}`;
}

/// The errors among what `signalbox config check --strict` has printed, but for signals that only the page's reader has.
export function errors(printed) {
  const lines = printed.split("\n").filter((line) => line !== "");
  return lines.filter((line) => !/: ok: |not built yet|is not set$|unknown \w+ signal/.test(line));
}
