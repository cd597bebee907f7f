#!/usr/bin/env node
// Prints router/spending/prices.yaml: the list prices of the providers' models, from the npm package
// @pydantic/genai-prices (MIT), which collects them from the providers' pages.
//
// usage: npm install --prefix FOLDER @pydantic/genai-prices && tools/prices.mjs FOLDER DATE > router/spending/prices.yaml

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const kProviders = ["anthropic", "deepseek", "google", "mistral", "openai", "x-ai"];

const [folder, date] = process.argv.slice(2);
if (!/^\d{4}-\d\d-\d\d$/.test(date ?? "")) {
  console.error("tools/prices.mjs: expected a folder with the package and the date of the prices");
  process.exit(2);
}
const at = `${folder}/node_modules/@pydantic/genai-prices`;
const { version } = JSON.parse(readFileSync(`${at}/package.json`, "utf8"));
const { findProvider } = await import(pathToFileURL(`${at}/dist/index.js`).href);

// A price may be tiered by the length of the prompt; the list has the first tier.
const number = (price) => (typeof price === "object" ? price?.base : price);

function pricesOf({ prices }) {
  const all = Array.isArray(prices) ? prices : [{ prices }];
  // The newest price without a time of day.
  const fit = all.filter(({ constraint }) => !constraint || (constraint.type === "start_date" && constraint.start_date <= date));
  return fit.sort((a, b) => (a.constraint?.start_date ?? "").localeCompare(b.constraint?.start_date ?? "")).at(-1)?.prices;
}

console.log(`# List prices in USD for a million tokens, as the providers publish them. \`pricing\` of a model replaces them. Printed by
# tools/prices.mjs from the npm package @pydantic/genai-prices (MIT). Prices that depend on the length of the prompt are those of
# short prompts.
date: ${date}
source: "@pydantic/genai-prices ${version}"
models:`);
const lines = new Map();
for (const id of kProviders) {
  for (const model of findProvider({ providerId: id })?.models ?? []) {
    const found = pricesOf(model);
    if (!found || model.deprecated || !/^[\w.-]+$/.test(model.id)) continue;
    const members = [
      ["prompt_per_1m", found.input_mtok],
      ["cached_input_per_1m", found.cache_read_mtok],
      ["cache_write_per_1m", found.cache_write_mtok],
      ["completion_per_1m", found.output_mtok],
      ["reasoning_per_1m", found.output_reasoning_mtok],
    ].flatMap(([name, price]) => (number(price) > 0 ? [`${name}: ${number(price)}`] : []));
    if (number(found.input_mtok) > 0 && number(found.output_mtok) > 0) lines.set(model.id, `  - {name: ${model.id}, ${members.join(", ")}}`);
  }
}
for (const id of [...lines.keys()].sort()) console.log(lines.get(id));
