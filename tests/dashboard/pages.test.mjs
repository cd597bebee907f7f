// Tests the pages with the demo's traffic, and without any data.

import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";

import { Daemon } from "../e2e/daemon.mjs";
import { until } from "../e2e/until.mjs";
import { Visit, kPages, startBrowser } from "./browser.mjs";
import { Demo, kSecret } from "./demo.mjs";

const kStructure = new URL("structure.json", import.meta.url);

let demo, empty, browser;

const nothing = (port, managementPort) => `# kept
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: small}
  models: [{name: small, backend_refs: [{name: a, type: echo}]}]
global:
  # kept, too
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}, auth: {token_for_changes: false}}
`;

before(async () => {
  demo = await Demo.start();
  await demo.fill();
  empty = await Daemon.start(nothing);
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await empty?.stop();
  await demo?.stop();
});

async function visiting(name, run, options = {}, url = demo.url) {
  const visit = await Visit.of(browser, url, options);
  try {
    await visit.open(name);
    await run(visit.page, visit);
    assert.deepEqual(visit.complaints, []);
  } finally {
    await visit.close();
  }
}

const row = (page, table, ...texts) =>
  texts.reduce((rows, hasText) => rows.filter({ hasText }), page.getByRole(table.role ?? "region", { name: table.name ?? table }).getByRole("row"));

test("errors are listed by cause, and clients' mistakes are not failures", async () => {
  await visiting("overview", async (page) => {
    const causes = page.getByRole("table").filter({ hasText: "Cause" });
    await causes.getByRole("row").filter({ hasText: "no model has the name that the client chose" }).filter({ hasText: "the client's" }).waitFor();
    await causes.getByRole("row").filter({ hasText: "the model's server refused the request" }).filter({ hasText: "refused by a server" }).waitFor();
    await causes.getByRole("row").filter({ hasText: "a model's server failed (5xx)" }).filter({ hasText: "failure" }).waitFor();
    await causes.getByRole("row").filter({ hasText: "the request had no key" }).filter({ hasText: "refused by a rule" }).waitFor();
    const tile = (name) => page.locator(".tiles > div").filter({ has: page.getByText(name, { exact: true }) }).locator("dd");
    const number = async (name) => Number.parseInt(await tile(name).innerText(), 10);
    await until(async () => (await number("Clients' mistakes")) === 2, "both mistakes are counted");
    await until(async () => /USD[^]*less than on the default model/.test(await tile("Cost").innerText()), "the cost is shown");
    await until(async () => {
      const figures = await (await fetch(`${demo.url}/metrics`)).text();
      const counted = [...figures.matchAll(/^llm_request_errors_total\{.*reason="upstream_5xx"\} (\d+)/gm)].reduce((sum, [, value]) => sum + Number(value), 0);
      return counted > 0 && (await number("Failed")) === counted;
    }, "failures are those of the metrics");
  });
});

test("savings are shown only if all costs can be compared", async () => {
  await visiting("servers", async (page) => {
    const step = { at: Math.floor(Date.now() / 1000), requests: 2, cost: { USD: 1, EUR: 3 }, cost_on_default: { USD: 9 }, not_compared: { USD: 8, EUR: 3 } };
    const traffic = { step: 2, began: 1, in_flight: 0, next: 1, bounds: { routing: [1], upstream: [1], ttft: [1] }, steps: [step] };
    await page.route("**/api/v1/traffic?*", (route) => route.fulfill({ json: traffic }));
    await page.getByRole("link", { name: "Overview" }).click();
    const tiles = page.locator(".tiles > div").filter({ has: page.getByText("Cost", { exact: true }) });
    await tiles.filter({ hasText: /1\.00\sUSD\s*not compared: a model without a price in USD answered too/ }).waitFor();
    await tiles.filter({ hasText: /3\.00\sEUR\s*the default model has no price in EUR/ }).waitFor();
    assert.doesNotMatch(await page.locator(".tiles").innerText(), /than on the default model/);
  });
});

test("lines beyond the first hundred are counted and not listed", async () => {
  await visiting("servers", async (page) => {
    const line = (i) => ({ key: `key-${i}`, requests: 1, prompt_tokens: 1, completion_tokens: 1, currency: "USD", cost: 1000 - i, saved: 0 });
    await page.route("**/api/v1/spending?*", (route) => route.fulfill({ json: { by: "key", lines: Array.from({ length: 130 }, (_, i) => line(i)), totals: [], shadows: [] } }));
    await page.getByRole("link", { name: "Keys and budgets" }).click();
    await page.getByText("And 30 further").waitFor();
    assert.equal(await row(page, "Spending", "key-").count(), 100);
  });
});

test("a single sample is drawn, and legends have values", async () => {
  await visiting("servers", async (page) => {
    const at = Math.floor(Date.now() / 1000);
    await page.clock.setFixedTime(at * 1000); // so that the sample stays within the minute
    const one = { at, requests: 4, models: { large: 4 }, decisions: { maths: 4 }, upstream: [0, 4, 0], ttft: [0, 0, 0], routing: [4, 0, 0] };
    const traffic = { step: 2, began: 1, in_flight: 0, next: 1, bounds: { routing: [0.1, 1], upstream: [0.1, 1], ttft: [0.1, 1] }, steps: [one] };
    await page.route("**/api/v1/traffic?*", (route) => route.fulfill({ json: traffic }));
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByRole("button", { name: "1 min" }).click();
    const chart = page.getByRole("figure").filter({ hasText: "Time of the model's reply" });
    await chart.getByText("p95").waitFor();
    assert.match(await chart.innerText(), /p50\s*[\d.]+\s*ms/);
    for (const text of await page.locator(".legend-list").allInnerTexts()) assert.ok(!text.includes("–"), text);
    // Look for pixels in the colour of a line. A chart without points has none.
    await page.waitForFunction(() => {
      const canvas = [...document.querySelectorAll("figure")].find((each) => each.textContent.includes("Decisions")).querySelector("canvas");
      const probe = document.createElement("span");
      probe.style.color = "var(--line-1)";
      document.body.append(probe);
      const [red, green, blue] = getComputedStyle(probe).color.match(/\d+/g).map(Number);
      probe.remove();
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let found = 0;
      for (let i = 0; i < data.length; i += 4) found += data[i] === red && data[i + 1] === green && data[i + 2] === blue && data[i + 3] === 255;
      return found >= 9;
    });
  });
});

test("each server has its state, its calls and its ejections", async () => {
  await visiting("servers", async (page) => {
    await row(page, "Servers", "large-broken", "ejected after failures").waitFor();
    await row(page, "Servers", "small-a", "gets requests").waitFor();
    const cells = await row(page, "Servers", "large-broken").getByRole("cell").allInnerTexts();
    assert.deepEqual([cells[1], cells[2], cells[4]], ["0", "0", "1"], "in flight, answered, ejections");
    assert.match(cells[3], /^[1-9]\d* +100\.0\s%$/);
  });
});

test("a row shows status, path, client and tokens, and opens where it is clicked", async () => {
  await visiting("decisions", async (page, visit) => {
    await page.getByLabel("Decision").selectOption("everything-else");
    const rows = row(page, "Requests", "everything-else", "build-bot");
    await page.waitForFunction(() => {
      const text = document.querySelector("table.list tbody")?.textContent ?? "";
      return text.includes("build-bot") && !text.includes("maths");
    });
    const cells = await rows.last().getByRole("cell").allInnerTexts();
    assert.deepEqual([cells[1], cells[2], cells[3], cells[7]], ["200", "/v1/chat/completions", "build-bot", "900 + 120"]);
    await page.getByLabel("Follow").uncheck(); // so that no row moves under the pointer
    await rows.last().getByRole("cell", { name: "/v1/chat/completions" }).click();
    const detail = page.locator("tr.detail");
    await detail.getByText("matches every request").waitFor();
    assert.ok(!/\b0\.000\b/.test(await detail.innerText()), "a decision without conditions has no confidence of 0");
    await page.getByLabel("Outcome").selectOption("refused by a server");
    await page.getByLabel("Decision").selectOption("");
    await row(page, "Requests", "400", "refused by the server: 400").waitFor();
    await page.getByLabel("Outcome").selectOption("failed");
    await row(page, "Requests", "breakage", "upstream 5xx").waitFor();
    assert.deepEqual(await visit.serious(), []);
  });
});

test("spending is shown against budgets, and a key is added, shown once and revoked", async () => {
  const status = async (key) => (await fetch(`${demo.daemon.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;
  await visiting("keys", async (page, visit) => {
    await row(page, "Spending", "ann", "USD").waitFor();
    await row(page, "Budgets", "interns", "kim", "requests are refused").filter({ hasText: "spent" }).waitFor();
    await row(page, "Budgets", "research-month", "research", "within").waitFor();
    await page.getByRole("button", { name: "By model" }).click();
    await row(page, "Spending", "large", "USD").waitFor();

    await row(page, "Issuers of tokens", "login", "known", "interns: small").waitFor();
    await row(page, "Issuers of tokens", "away", "not available").waitFor();

    await page.getByText("Add a key").click();
    const form = page.getByRole("form", { name: "New key" });
    await form.getByLabel("Name", { exact: true }).fill("ann");
    await form.getByRole("button", { name: "Add" }).click();
    await page.getByRole("alert").getByText("ann").waitFor();
    await form.getByLabel("Name", { exact: true }).fill("visitor");
    await form.getByLabel("Groups").fill("guests, tools");
    await form.getByLabel("Requests a minute").fill("60");
    await form.getByRole("button", { name: "Add" }).click();
    const key = await page.getByLabel("Key of visitor").innerText();
    assert.equal(await status(key.trim()), 200);
    await row(page, "Keys", "visitor", "guests, tools").filter({ hasText: "60 requests a minute" }).waitFor();
    assert.deepEqual(await visit.serious(), []);
    await page.getByRole("button", { name: "Revoke visitor…" }).click();
    await page.getByRole("button", { name: "Keep" }).click();
    await page.getByRole("button", { name: "Revoke visitor…" }).click();
    await page.getByRole("button", { name: "Revoke now" }).click();
    await row(page, "Keys", "visitor").waitFor({ state: "detached" });
    assert.equal(await status(key.trim()), 401);
    await page.reload();
    await row(page, "Keys", "ann").waitFor();
    assert.ok(!(await page.content()).includes(key.trim()), "a key is shown once");
  });
});

test("a key expires on its day in UTC, wherever the viewer is", async () => {
  await visiting("keys", (page) => row(page, "Keys", "ann", "31 Jan 2030").waitFor(), { timezoneId: "America/New_York" });
});

test("each model's head has its own labels", async () => {
  await visiting("models", async (page) => {
    await row(page, "Models", "domain classifier", "14 labels").getByText("14 labels").click();
    await row(page, "Models", "domain classifier").getByText("biology, business, chemistry").waitFor();
    await row(page, "Models", "fact check classifier", "2 labels").waitFor();
    await row(page, "Models", "user feedback classifier", "4 labels").waitFor();
    await row(page, "Models", "fact check classifier").getByText("with domain classifier").waitFor(); // one model in memory
  });
});

test("priorities are named, and a decision without conditions has no confidence of 0", async () => {
  await visiting("try", async (page) => {
    await page.getByText("priority 200").waitFor();
    await page.getByLabel("Prompt").fill("Say hello");
    await page.getByRole("button", { name: "Explain" }).click();
    const answer = page.getByRole("region", { name: "Answer" });
    await answer.getByText("everything-else").waitFor();
    assert.ok(!(await answer.innerText()).includes("Confidence"));
    await page.getByText("chosen: it matches every request").waitFor();
  });
});

test("a sentence states the savings of a cheaper model", async () => {
  await visiting("shadows", async (page) => {
    const result = page.getByRole("list", { name: "Results" }).getByRole("listitem").filter({ hasText: "maths" });
    await result.filter({ hasText: /If small had answered .* of maths instead of large, .*\sUSD\sless/ }).waitFor();
    await row(page, "Pairs of answers", "maths", "small").waitFor();
  });
});

test("the audit log lists changes and refusals with their users", async () => {
  await visiting("audit", async (page) => {
    await row(page, "Changes", "change through the API", "key kim", "201").waitFor();
    await row(page, "Changes", "no token required").first().waitFor();
    await row(page, "Changes", "digest of the keys").first().waitFor();
    await row(page, "Changes", "started").waitFor();
    await page.getByText("audit verify audit.jsonl*").waitFor();
    await page.getByRole("button", { name: "Refusals" }).click();
    await row(page, "Refusals", "nobody has that key", "401").first().waitFor(); // any of them
    await page.getByText("audit verify audit-refusals.jsonl*").waitFor();
  });
});

test("an audit log that cannot be read is an error, and not an absent log", async () => {
  const logging = await Daemon.start((port, managementPort) => `${nothing(port, managementPort)}    audit: {file: audit.jsonl}\n`);
  try {
    await rm(join(logging.folder, "audit-refusals.jsonl"));
    await visiting("audit", async (page) => {
      await page.getByRole("alert").filter({ hasText: "audit-refusals.jsonl: cannot be read" }).waitFor();
      assert.equal(await page.getByText("There is no audit log").count(), 0);
    }, {}, logging.managementUrl);
  } finally {
    await logging.stop();
  }
});

test("the configuration has colours, a search, and problems beside their lines", async () => {
  await visiting("configuration", async (page, visit) => {
    const text = page.getByLabel("Configuration as YAML");
    const before_ = await text.inputValue();
    const colours = page.locator("pre.yaml");
    assert.equal((await colours.evaluate((pre) => [...pre.children].map((line) => line.textContent.replace(/^\n$/, "")).join("\n"))), before_);
    await colours.locator(".key", { hasText: /^providers$/ }).waitFor();
    await colours.locator(".comment", { hasText: "# Demo" }).waitFor();
    const search = page.getByRole("searchbox", { name: "Search the configuration" });
    await search.fill("SMALL-A");
    await page.getByText("1 of 1").waitFor();
    const selected = () => text.evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd));
    await page.waitForFunction(() => getSelection && document.querySelector("textarea").selectionEnd > document.querySelector("textarea").selectionStart);
    assert.equal(await selected(), "small-a");
    await search.fill("backend_refs");
    await page.getByText("1 of 3").waitFor();
    await search.press("Enter");
    await page.getByText("2 of 3").waitFor();
    await search.fill("nowhere-at-all");
    await page.getByText("not found").waitFor();
    await text.fill(before_.replace("priority: 200", "priority: high"));
    const problem = colours.locator(".bad").filter({ hasText: "priority: high" }).locator(".problem");
    await problem.waitFor();
    assert.match(await problem.innerText(), /high/);
    assert.deepEqual(await visit.serious(), []);
  });
});

test("recording is switched on by a button, which keeps the file's comments", async () => {
  const record = () => fetch(`${empty.url}/v1/chat/completions`, { method: "POST", body: JSON.stringify({ model: "auto", messages: [{ role: "user", content: kSecret }] }) });
  await visiting("decisions", async (page, visit) => {
    await visit.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("heading", { name: "Requests are not recorded" }).waitFor();
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "global:\n  services:\n    router_replay: {enabled: true}");
    await page.getByRole("button", { name: "Switch recording on" }).click();
    await page.getByRole("heading", { name: "No request has been recorded yet" }).waitFor();
    await record();
    await row(page, "Requests", "small", "answered").waitFor();
    const on = await readFile(empty.file, "utf8");
    assert.match(on, /^# kept\n[^]*\n  # kept, too\n  services:\n    router_replay: \{enabled: true\}\n    management_api/);
    assert.ok(!(await page.content()).includes(kSecret));
    // An edit of the file that is not active yet is kept, and the failure is shown beside the listed requests.
    await writeFile(empty.file, `${on}made_up_key: 1\n`);
    await page.getByRole("button", { name: "Switch recording off" }).click();
    await page.getByRole("alert").filter({ hasText: "differs from the active configuration" }).waitFor();
    await page.getByRole("link", { name: "Open the page Configuration" }).waitFor();
    assert.equal(await readFile(empty.file, "utf8"), `${on}made_up_key: 1\n`);
    await writeFile(empty.file, on);
    await until(async () => (await (await fetch(`${empty.managementUrl}/config/hash`)).json()).activation_status === "active", "the file is active");
    await page.getByRole("button", { name: "Switch recording off" }).click();
    await page.getByText("recording is off").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    assert.equal(await readFile(empty.file, "utf8"), on.replace("enabled: true", "enabled: false"));
  }, {}, empty.managementUrl);
});

test("a page without data explains how to get data", async () => {
  const expected = {
    overview: /No request in this window yet\. Send one/,
    shadows: /No shadow has answered yet[^]*shadow_dispatch/,
    keys: /Spending is not counted[^]*global\.spending[^]*Requests need no key/,
    audit: /There is no audit log[^]*restart/,
  };
  // A router of its own, because the tests before have sent requests to the others.
  const fresh = await Daemon.start(nothing);
  try {
    for (const [name, words] of Object.entries(expected)) {
      await visiting(name, async (page, visit) => {
        await page.waitForFunction(([source]) => new RegExp(source).test(document.querySelector("main").innerText), [words.source]);
        assert.deepEqual(await visit.serious(), []);
      }, {}, fresh.managementUrl);
    }
  } finally {
    await fresh.stop();
  }
});

/// The structure of a page: what a screen reader announces, each once and without figures.
const outline = (page) =>
  page.evaluate(() => {
    const visible = (each) => each.checkVisibility({ visibilityProperty: true }) && !each.closest("[aria-hidden=true]");
    const name = (each) => (each.getAttribute("aria-label") ?? each.textContent).trim().replace(/\s+/g, " ").replace(/[\d:.,]*\d/g, "0").slice(0, 60);
    const kinds = { heading: "h1, h2, h3", link: "nav a", button: "button:not(.link)", region: "[role=region]", column: "th[scope=col]", field: "label", chart: "figure h2" };
    const out = Object.entries(kinds).flatMap(([kind, selector]) =>
      [...document.querySelectorAll(selector)].filter(visible).map((each) => `${kind}: ${name(each)}`),
    );
    return [...new Set(out)];
  });

// Pictures differ by the fonts of a machine, so what is compared is the structure: the same headings, controls, regions and
// columns as in structure.json, light and dark. axe compares the contrast of each text with its background. At 400 pixels
// nothing may be wider than the page or be cut off in its card. UPDATE=1 writes structure.json anew.
test("every page has its structure, light and dark, wide and at 400 pixels, and shows no text of users", async () => {
  // The page Overview shows the last minutes, and the tests before may have taken longer.
  await demo.ask("", "Hello");
  await demo.ask("ann", `Prove theorem 1 ${kSecret}`);
  const kept = JSON.parse(await readFile(kStructure, "utf8").catch(() => "{}"));
  const looks = { light: {}, dark: { colorScheme: "dark" }, phone: { viewport: { width: 400, height: 850 } } };
  for (const name of kPages) {
    for (const [look, options] of Object.entries(looks)) {
      await visiting(name, async (page, visit) => {
        if (process.env.UPDATE && look === "light") {
          await pause(3000); // nothing is expected that one could wait for
          kept[name] = await outline(page);
        }
        const comparable = (all) => (look === "phone" ? all.filter((line) => !line.startsWith("column: ")) : all);
        let lines;
        await until(async () => isDeepStrictEqual(comparable((lines = await outline(page))), comparable(kept[name])),
          () => `${name}, ${look}, has ${JSON.stringify(lines)} and not ${JSON.stringify(kept[name])}`);
        // The dark changes the contrast, and 400 pixels change the layout.
        if (look !== "phone") assert.deepEqual(await visit.serious(look === "dark" ? ["color-contrast"] : undefined), [], `${name}, ${look}`);
        assert.ok(!(await page.content()).includes(kSecret), `${name} shows a text of a user`);
        if (look !== "phone") return;
        assert.ok((await visit.overflow()) <= 0, `${name} is ${await visit.overflow()} pixels too wide`);
        const cut = await page.evaluate(() => [...document.querySelectorAll(".scroll")].filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.ariaLabel));
        assert.deepEqual(cut, [], `${name} cuts off`);
      }, options);
    }
  }
  if (process.env.UPDATE) await writeFile(kStructure, `${JSON.stringify(kept, null, 1)}\n`);
});
