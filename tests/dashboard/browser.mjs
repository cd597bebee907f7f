// Opens one page of a daemon's dashboard in a browser, and records the page's requests and its errors.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { chromium } from "playwright-core";

export const kPages = ["overview", "servers", "decisions", "shadows", "keys", "try", "configuration", "models", "audit"];

const kWaitMsMax = 180_000; // for what a page shows within a second, unless the machine is busy
const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const startBrowser = () =>
  chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });

export class Visit {
  /// `options` are the browser context's: viewport, colorScheme.
  static async of(browser, url, options = {}) {
    const visit = new Visit();
    visit.context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    visit.context.setDefaultTimeout(kWaitMsMax);
    visit.page = await visit.context.newPage();
    visit.url = url;
    visit.requests = [];
    visit.complaints = [];
    visit.page.on("request", (request) => visit.requests.push(request.url()));
    visit.page.on("pageerror", (error) => visit.complaints.push(String(error)));
    visit.page.on("console", (message) => {
      // The browser itself logs every response whose status is not 2xx.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) visit.complaints.push(message.text());
    });
    return visit;
  }

  /// Opens a page and waits until it is there. The shared frame has no data-page.
  async open(page = "overview") {
    await this.page.goto(`${this.url}/#/${page}`);
    await this.page.locator(`main[data-page="${page}"] h1, h1:text("Sign in")`).first().waitFor();
  }

  /// Returns what axe rates as serious or worse: "rule: selector". `rules`: only these.
  async serious(rules) {
    await this.page.evaluate(kAxe);
    const options = { resultTypes: ["violations"], ...(rules ? { runOnly: rules } : {}) };
    const found = await this.page.evaluate((options) => window.axe.run(document, options), options);
    return found.violations
      .filter((each) => ["serious", "critical"].includes(each.impact))
      .flatMap((each) => each.nodes.map((node) => `${each.id}: ${node.target} (${node.failureSummary})`));
  }

  /// Returns by how much the page is wider than the window.
  overflow() {
    return this.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  }

  close() {
    return this.context.close();
  }
}
