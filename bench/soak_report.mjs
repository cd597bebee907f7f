// The table at the end of a soak.

import { loadavg } from "node:os";

const kGrowthMax = 3; // percent of resident memory, after the first tenth

const row = (name, ...values) => console.log(`  ${name.padEnd(76)}${values.map((value) => String(value).padStart(10)).join("")}`);
const sorted = (entries) => [...entries].sort(([a], [b]) => (a < b ? -1 : 1));

/// Prints the table. Returns true if nothing is wrong.
export function report({ book, samples, servers, counts, seconds, broken, descriptorsLeftMax }) {
  const { left = [], ...faults } = counts;
  console.log(`\noperations`);
  for (const [kind, count] of sorted(book.operations)) row(kind, count);
  row("requests", book.requests);
  row("requests a second", (book.requests / seconds).toFixed(0));
  row("calls of the models' servers, of which failed on purpose", servers.calls, servers.faulty);
  console.log(`faults and changes`);
  for (const [name, count] of sorted(Object.entries(faults))) row(name, count);
  console.log(`errors that are right`);
  for (const [key, count] of sorted(book.allowed)) row(key.replace("\t", ": "), count);
  console.log(`wrong`);
  row("wrong answers", book.wrong);
  row("lost acknowledged writes", book.lost);
  console.log(`routers: after the first tenth, at the end, difference, most`);
  let grows = false;
  samples.routers.forEach((router, i) => {
    for (const [name, figure] of [["resident MiB", "resident"], ["heap and stacks of it, MiB", "heap"], ["descriptors", "descriptors"]]) {
      const { early, late, percent, most } = samples.compare(i, figure);
      const digits = figure === "descriptors" ? 0 : 1;
      row(`${router.name}: ${name}`, early.toFixed(digits), late.toFixed(digits), `${percent.toFixed(1)} %`, most.toFixed(digits));
      if (figure === "resident" && percent > kGrowthMax) grows = true;
    }
    console.log(`  ${router.name}: resident MiB after each tenth: ${samples.tenths(i, "resident").map((each) => each.toFixed(1)).join(" ")}`);
    if (left.length > 0) row(`${router.name}: descriptors more than at the start, without clients`, left[i]);
  });
  const leaks = left.some((each) => each > descriptorsLeftMax);
  const why = [
    broken && `the soak was broken off: ${broken.message}`,
    book.wrong > 0 && "wrong answers",
    book.lost > 0 && "lost writes",
    grows && `memory has grown by more than ${kGrowthMax} %`,
    leaks && `more than ${descriptorsLeftMax} descriptors were left open`,
  ].filter(Boolean);
  console.log(`${seconds.toFixed(0)} s, load of the machine ${loadavg().map((each) => each.toFixed(1)).join(" ")}`);
  console.log(why.length === 0 ? "right" : `WRONG: ${why.join("; ")}`);
  return why.length === 0;
}
