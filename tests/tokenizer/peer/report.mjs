// Reduces a difference to a small, readable case: removes characters from the row, and parts from the configuration, as
// long as the two answers still differ.

import { asOptions, compare } from "./answers.mjs";
import { size } from "./small_models.mjs";

const kRoundsMax = 60; // each round loads the file once

/// Returns text in visible ASCII as a JSON or JavaScript string.
export const escaped = (value) =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

// Yields all variants with `length` code points removed from one of the row's texts, or without its pair.
function* shorter(row, length) {
  if (row.pair !== undefined) yield { text: row.text };
  for (const key of Object.keys(row)) {
    const points = [...row[key]];
    for (let at = 0; at < points.length; at += length) {
      yield { ...row, [key]: [...points.slice(0, at), ...points.slice(at + length)].join("") };
    }
  }
}

async function smallRow(setting, first) {
  let best = first;
  let length = Math.max(...Object.values(first.row).map((text) => [...text].length)) >> 1;
  for (let round = 0; round < kRoundsMax && length > 0; ++round) {
    const { found } = await compare(setting, [...shorter(best.row, length)]);
    if (found.length > 0) best = found[0];
    else length >>= 1;
  }
  return best;
}

// Yields variants of the file with one part removed.
function* simpler(json) {
  for (const section of ["normalizer", "pre_tokenizer", "post_processor"]) {
    if (json[section] === null) continue;
    yield { ...json, [section]: null };
    if (json[section].type !== "Sequence") continue;
    const [list, steps] = Object.entries(json[section]).find(([, value]) => Array.isArray(value));
    for (const step of steps) yield { ...json, [section]: step };
    for (const at of steps.keys()) {
      yield { ...json, [section]: { ...json[section], [list]: steps.filter((_, i) => i !== at) } };
    }
  }
  const end = size(json.model);
  for (const at of json.added_tokens.keys()) {
    let next = end;
    const rest = json.added_tokens.filter((_, i) => i !== at);
    yield { ...json, added_tokens: rest.map((token) => (token.id < end ? token : { ...token, id: next++ })) };
  }
}

async function stillDiffers(setting, json, row) {
  try {
    return (await compare({ ...setting, ...setting.save(json) }, [row])).found[0];
  } catch {
    return undefined; // one of the two rejects that file: a different problem
  }
}

async function smallConfiguration(setting, json, found) {
  const best = { json, found };
  for (let round = 0; round < kRoundsMax; ++round) {
    let smaller;
    for (const candidate of simpler(best.json)) {
      const still = await stillDiffers(setting, candidate, best.found.row);
      if (!still) continue;
      smaller = { json: candidate, found: still };
      break;
    }
    if (!smaller) break;
    Object.assign(best, smaller);
  }
  return best;
}

/// Prints a report about the first of some differences. `setting.json` exists if the configuration was generated here;
/// `setting.save` writes one to a file and returns the file's name.
export async function report(name, setting, found, rows) {
  let json = setting.json;
  let small = found[0];
  let where = setting;
  if (json) {
    ({ json, found: small } = await smallConfiguration(setting, json, small));
    where = { ...setting, ...setting.save(json) };
  }
  small = await smallRow(where, small);
  const lines = [`${name}: ${found.length} of ${rows} rows differ; the first, reduced:`];
  lines.push(`  options: ${asOptions(where).join(" ")}`);
  if (json) {
    const { model, added_tokens, normalizer, pre_tokenizer, post_processor } = json;
    const summary = { ...model, vocab: size(model), merges: model.merges?.length };
    const shown = { added_tokens, normalizer, pre_tokenizer, post_processor, model: summary };
    for (const [key, value] of Object.entries(shown)) lines.push(`  ${key}: ${escaped(value)}`);
  }
  for (const [key, text] of Object.entries(small.row)) lines.push(`  ${key}: ${escaped(text)}`);
  lines.push(`  peer: ${JSON.stringify(small.peer)}`);
  lines.push(`  ours: ${typeof small.ours === "string" ? small.ours : JSON.stringify(small.ours)}`);
  lines.push(`  first difference: ${small.what}`);
  return lines.join("\n");
}
