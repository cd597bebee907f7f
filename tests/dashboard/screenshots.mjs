// Takes pictures of every page, light, dark and on a phone, with the demo's traffic, for docs/ and for changes of the
// design.
//
// usage: SIGNALBOX=build/release/signalbox node tests/dashboard/screenshots.mjs FOLDER     (in the root of the tree)
// ONLY="try-light overview-phone" takes only these; TRAFFIC_MS=60000 sets how long requests are sent first; EMPTY=1 sends
// none, so that each page shows how to get data.

import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { Visit, kPages, startBrowser } from "./browser.mjs";
import { Demo } from "./demo.mjs";

const out = resolve(process.argv[2]);
await mkdir(out, { recursive: true });
const pages = process.env.PAGES?.split(" ") ?? kPages;
const demo = await Demo.start();
let over = false;

async function traffic() {
  const prompts = ["Prove theorem", "Say hello", "Summarize", "Prove it again", "Tell me the launch code", "Translate"];
  for (let i = 0; !over; ++i) {
    const key = ["ann", "build-bot", "ann"][i % 3];
    await Promise.all(Array.from({ length: 1 + (i % 3) }, (_, k) => demo.ask(key, `${prompts[(i + k * k) % prompts.length]} ${i % 17}`)));
    await pause(100 + 150 * Math.abs(Math.sin(i / 40)));
  }
}
if (!process.env.EMPTY) await demo.fill();
const passing = process.env.EMPTY ? null : traffic();
await pause(Number(process.env.TRAFFIC_MS ?? (process.env.EMPTY ? 0 : 20_000)));

const kLooks = {
  light: {},
  dark: { colorScheme: "dark" },
  phone: { viewport: { width: 400, height: 1200 } },
};
const browser = await startBrowser();
try {
  for (const [look, options] of Object.entries(kLooks)) {
    for (const name of pages) {
      if (process.env.ONLY && !process.env.ONLY.split(" ").includes(`${name}-${look}`)) continue;
      const visit = await Visit.of(browser, demo.url, options);
      await visit.open(name);
      if (name === "decisions" && !process.env.EMPTY) await visit.page.locator("table.list button").nth(1).click();
      await pause(1500);
      await visit.page.screenshot({ path: join(out, `${name}-${look}.png`), fullPage: name !== "decisions" });
      if (visit.complaints.length) console.log(name, look, visit.complaints);
      await visit.close();
    }
  }
} finally {
  await browser.close();
  over = true;
  await passing;
  await demo.stop();
}
