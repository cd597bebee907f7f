// Resident memory and open descriptors of the routers over time, from /proc.

import { readdir, readFile } from "node:fs/promises";

async function sampleOf(pid) {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const kib = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)[1]);
  return { resident: kib("VmRSS") / 1024, heap: kib("RssAnon") / 1024, descriptors: (await readdir(`/proc/${pid}/fd`)).length };
}

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

export class Samples {
  all = [];
  constructor(routers, began, lengthMs) {
    Object.assign(this, { routers, began, lengthMs });
  }

  async take() {
    const each = await Promise.all(this.routers.map((router) => sampleOf(router.process.pid)));
    this.all.push({ at: (Date.now() - this.began) / this.lengthMs, each });
    return each;
  }

  /// A figure of one router after each tenth.
  tenths(router, figure) {
    const last = (tenth) => this.all.filter(({ at }) => at <= tenth / 10 + 0.001).at(-1).each[router][figure];
    return Array.from({ length: 10 }, (_, i) => last(i + 1));
  }

  /// The medians of a figure of one router after the first tenth and at the end, and the difference in percent.
  compare(router, figure) {
    const within = (from, to) => this.all.filter(({ at }) => at >= from && at <= to).map(({ each }) => each[router][figure]);
    const values = this.all.map(({ each }) => each[router][figure]);
    const early = median(within(0.1, 0.15)) ?? values[0];
    const late = median(within(0.95, Infinity)) ?? values.at(-1);
    return { early, late, most: Math.max(...values), percent: (100 * (late - early)) / early };
  }
}
