// Pages show parts of configurations in fences with the language `yaml`. Completed to a whole configuration, each must
// load without unknown keys.

const kModel = "  defaults: {default_model: m}\n  models:\n    - {name: m, backend_refs: [{name: echo, type: echo}]}\n";
const kDecision = "routing:\n  decisions:\n    - name: d\n      modelRefs: [{model: m}]\n";

const has = (text, key) => new RegExp(`^${key}:`, "m").test(text);
const indented = (text, by) => text.replace(/^(?=.)/gm, " ".repeat(by));

/// Returns the parents of a part that begins at `decisions:`, `plugins:` or `management_api:`.
function rooted(part) {
  if (has(part, "decisions")) return `routing:\n${indented(part, 2)}`;
  if (has(part, "plugins") || has(part, "difficulty")) return `${kDecision}${indented(part, 6)}`;
  if (has(part, "management_api")) return `global:\n  services:\n${indented(part, 4)}`;
  return part;
}

/// Completes a part to a whole configuration.
export function completed(part) {
  let text = `${rooted(part)}\n`;
  if (!has(text, "providers")) text += `providers:\n${kModel}`;
  const first = /^  models:\n +- \{?name: ([\w.-]+)/m.exec(text)?.[1];
  if (!/^  defaults:/m.test(text)) text = text.replace(/^providers:\n/m, `$&  defaults: {default_model: ${first}}\n`);
  return has(text, "version") ? text : `version: v0.3\n${text}`;
}

/// Returns the errors in the output of `signalbox config check --strict`, except those about signals, models and parts
/// of the file that only the reader of the page has.
export function errors(printed) {
  const lines = printed.split("\n").filter((line) => line !== "");
  return lines.filter((line) => !/: ok: |docs\/upstream\.md|is not set( \(and \d+ more like it\))?$|there is no (model at|token)|outcomes refer to records|unknown \w+ signal/.test(line));
}
