// Tests the dashboard in a browser: what each page shows and does for each kind of user, with the keyboard, on a phone
// and in dark mode, and that it sends requests only to its daemon.

import assert from "node:assert/strict";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";

import { Daemon } from "../e2e/daemon.mjs";
import { PacedUpstream } from "../e2e/upstream.mjs";
import { Visit, kPages, startBrowser } from "./browser.mjs";

const kSecret = "marmalade-submarine"; // occurs in prompts; must not be visible while texts are switched off
const kReply = ["The", " bridge", " is", " 640", " m", " long", ".", " It", " carries", " eight", " lanes", "."];
const kPaintMsMax = 500;
const kBarePages = 10;
const kPaints = 5; // the shortest one counts, because other work on the machine only adds time

const configuration = (upstream, management = ", auth: {token_for_changes: false}") => (port, managementPort) => `# kept
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: general}
  models:
    - {name: general, backend_refs: [{name: a, endpoint: "127.0.0.1:${upstream}"}]}
    - {name: mathematician, backend_refs: [{name: a, endpoint: "127.0.0.1:${upstream}"}]}
routing:
  signals:
    keywords:
      - {name: proof, operator: OR, keywords: [prove, theorem]}
      - {name: slang, operator: OR, keywords: [yo]}
      - {name: bridge, operator: OR, keywords: [bridge]}
      - {name: forbidden, operator: OR, keywords: [launch code]}
    language: [{name: en, threshold: 0.4}]
    pii:
      - {name: personal, threshold: 0.8}
  decisions:
    - name: forbidden
      priority: 300
      rules: {type: keyword, name: forbidden}
      plugins: [{type: fast_response, configuration: {message: That is not for me to say.}}]
    - name: maths
      description: Proofs go to the model that is good at them.
      priority: 200
      rules:
        operator: AND
        conditions:
          - {type: keyword, name: proof}
          - {operator: NOT, conditions: [{type: keyword, name: slang}]}
      modelRefs: [{model: mathematician}]
      plugins:
        - {type: system_prompt, configuration: {system_prompt: Prove every step.}}
        - {type: router_replay, configuration: {enabled: true, capture_request_body: true, capture_response_body: true}}
    - name: facts
      priority: 150
      rules: {operator: AND, conditions: [{type: keyword, name: bridge}, {type: language, name: en}]}
      modelRefs: [{model: general}]
      plugins: [{type: hallucination, configuration: {include_hallucination_details: true}}]
    - name: personal
      tier: 1
      priority: 100
      rules: {type: pii, name: personal}
      modelRefs: [{model: general}]
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}${management}}
    router_replay: {enabled: true}
  model_catalog:
    system: {pii_classifier: ""}
`;

let upstream, daemon, browser;

before(async () => {
  upstream = await PacedUpstream.start(kReply, 5);
  daemon = await Daemon.start(configuration(upstream.port));
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await daemon?.stop();
  await upstream?.stop();
});

const ask = async (content, more = {}) => {
  const response = await fetch(`${daemon.url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model: "auto", messages: [{ role: "user", content }], ...more }),
  });
  await response.text();
};

/// Opens a page, runs the test, and then checks the requirements that hold for every page.
async function visiting(page, options, run, url = daemon.managementUrl) {
  const visit = await Visit.of(browser, url, options);
  try {
    await visit.open(page);
    await run(visit.page, visit);
    assert.deepEqual(visit.complaints, []);
    const elsewhere = visit.requests.filter((each) => !each.startsWith(`${url}/`));
    assert.deepEqual(elsewhere, [], "requests to anywhere else");
  } finally {
    await visit.close();
  }
}

const accessible = async (visit) => assert.deepEqual(await visit.serious(), []);

/// Loads a page several times. Returns when each was painted first, in milliseconds.
async function firstPaints(page) {
  const out = [];
  for (let i = 0; i < kPaints; ++i) {
    await page.reload();
    // The entry exists before the browser paints the page.
    const paint = await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
    out.push(Math.round(await paint.jsonValue()));
  }
  return out;
}

test("the page to try a prompt answers before anything is clicked", async (t) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto("data:text/html,<p>bare</p>");
  const bare = await firstPaints(page);
  await context.close();
  await visiting("try", {}, async (page, visit) => {
    const answer = page.locator(".answer .sentence");
    await answer.waitFor();
    assert.equal(await answer.innerText(), "Goes to mathematician because the decision maths matched: keyword proof found “prove” and not keyword slang.");
    await accessible(visit);
    const painted = await firstPaints(page);
    // On a busy machine a bare page takes long, too.
    const most = Math.max(kPaintMsMax, kBarePages * Math.min(...bare));
    t.diagnostic(`first paint after ${painted.join(", ")} ms, of a bare page after ${bare.join(", ")} ms`);
    assert.ok(Math.min(...painted) < most, `first paint after ${painted} ms, expected less than ${most}`);
  });
});

test("rules are lit where they matched and grey where they were never needed", async () => {
  await visiting("try", {}, async (page) => {
    const rule = (name) => page.locator(".decisions > li", { hasText: name });
    await rule("maths").locator(".node.yes").first().waitFor();
    assert.match(await rule("maths").getAttribute("class"), /yes selected/);
    assert.match(await rule("personal").getAttribute("class"), /unneeded/);
    assert.match(await rule("personal").locator("summary").innerText(), /tier 1, priority 100/);
    const signals = page.getByRole("region", { name: "Signals" });
    assert.match(await signals.locator("table", { hasText: "pii" }).innerText(), /not needed, no cost/);
    assert.match(await signals.locator("table", { hasText: "keyword" }).innerText(), /µs|ms/);
    await page.getByLabel("Also compute signals that were not needed").check();
    await signals.getByText("all computed").waitFor();
    await signals.locator("table", { hasText: "pii" }).locator("tr:is(.no, .unknown)").waitFor();
  });
});

test("the bytes that change are shown, and nothing else", async () => {
  await visiting("try", {}, async (page) => {
    const sent = page.getByRole("region", { name: "What is sent" });
    await sent.locator("ins").first().waitFor();
    const added = (await sent.locator("ins").allInnerTexts()).join("");
    assert.match(added, /Prove every step\./);
    assert.equal((await sent.locator("del").allInnerTexts()).join(""), "auto");
  });
});

test("personal data is highlighted, and a refusal is shown", async () => {
  await visiting("try", {}, async (page) => {
    await page.getByLabel("Prompt").fill("\u{1F600} Mail ada@example.org");
    await page.getByRole("button", { name: "Explain" }).click();
    const mark = page.locator("mark.personal");
    await mark.waitFor();
    assert.equal(await mark.innerText(), "ada@example.orgEMAIL_ADDRESS");
    await page.getByLabel("Prompt").fill("Tell me the launch code");
    await page.getByRole("button", { name: "Explain" }).click();
    await page.getByText("Answered by the router itself").waitFor();
    await page.locator("blockquote", { hasText: "That is not for me to say." }).waitFor();
  });
});

test("a whole conversation can be pasted, and its errors are shown", async () => {
  await visiting("try", {}, async (page) => {
    await page.getByRole("button", { name: "Conversation (JSON)" }).click();
    const text = page.getByLabel("Chat completion request as JSON");
    await text.fill('{"model": "auto", "messages": [{"role": "user", "content": "yo, prove it"}]}');
    await page.getByRole("button", { name: "Explain" }).click();
    await page.getByText("no decision matched").waitFor();
    await text.fill('{"model": "auto"');
    await page.getByRole("button", { name: "Explain" }).click();
    await page.getByRole("alert").getByText("not JSON").waitFor();
    await text.fill('{"model": "auto"}');
    await page.getByRole("button", { name: "Explain" }).click();
    await page.getByRole("alert").getByText("messages").waitFor();
  });
});

test("a reply streams in, and its unsupported parts are marked", async () => {
  await visiting("try", {}, async (page, visit) => {
    await page.getByRole("button", { name: "Conversation (JSON)" }).click();
    const messages = [
      { role: "user", content: "How long is the bridge?" },
      { role: "assistant", content: null, tool_calls: [{ id: "t", type: "function", function: { name: "look", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "t", content: "The bridge was opened in 1932. Its main span is 503 m long, and it carries eight lanes." },
    ];
    await page.getByLabel("Chat completion request as JSON").fill(JSON.stringify({ model: "auto", messages }));
    await page.getByRole("button", { name: "Explain" }).click();
    await page.locator(".sentence", { hasText: "facts" }).waitFor();
    await page.getByRole("button", { name: "Send it" }).click();
    const mark = page.locator("mark.unsupported");
    await mark.waitFor();
    assert.match(await mark.innerText(), /640 m\s*fabricated number/);
    await page.getByText("whole after").waitFor();
    assert.match(await page.locator(".streamed").innerText(), /carries eight lanes\./);
    assert.equal(JSON.parse(upstream.body).messages.length, 3);
    await accessible(visit);
  });
});

test("traffic is counted as it passes", async () => {
  for (let i = 0; i < 6; ++i) await ask(`Prove ${i} ${kSecret}`);
  await ask("Tell me the launch code");
  await visiting("overview", {}, async (page, visit) => {
    const rows = page.locator("section", { hasText: "By decision" });
    for (const decision of [/maths/, /forbidden/]) {
      await rows.getByRole("row", { name: decision }).waitFor();
    }
    assert.equal(await page.locator(".chart canvas").count(), 4);
    await page.getByRole("button", { name: "15 min" }).click();
    await accessible(visit);
  });
});

test("recent decisions can be filtered, and show recorded texts only on request", async () => {
  await ask(`Prove it, ${kSecret}`);
  await ask(`A bridge, ${kSecret}`);
  await visiting("decisions", {}, async (page, visit) => {
    await page.getByLabel("Decision").selectOption("facts");
    const rows = page.locator("table.list tbody tr:not(.detail)");
    await page.waitForFunction(() => [...document.querySelectorAll("table.list tbody tr:not(.detail)")].every((row) => row.textContent.includes("facts")));
    await rows.first().getByRole("button").click();
    await page.getByText("keyword bridge").waitFor();
    await page.getByRole("button", { name: "Show texts and shadows" }).click();
    await page.getByText("No text was recorded").waitFor();
    assert.ok(!(await page.content()).includes(kSecret));
    await accessible(visit);

    await page.getByLabel("Decision").selectOption("maths");
    await page.waitForFunction(() => [...document.querySelectorAll("table.list tbody tr:not(.detail)")].every((row) => row.textContent.includes("maths")));
    await rows.first().getByRole("button").click();
    assert.ok(!(await page.content()).includes(kSecret), "a recorded text is shown to nobody who has not asked");
    await page.getByRole("button", { name: "Show texts and shadows" }).click();
    await page.getByText(kSecret).first().waitFor();
    await page.getByRole("button", { name: "Try it again" }).click();
    await page.locator(".sentence", { hasText: "maths" }).waitFor();
  });
});

test("a configuration is validated as one types, compared, applied and rolled back", async () => {
  const before_ = await readFile(daemon.file, "utf8");
  await visiting("configuration", {}, async (page, visit) => {
    const text = page.getByLabel("Configuration as YAML");
    assert.equal(await text.inputValue(), before_);
    await text.fill(before_.replace("keywords: [yo]", "keyword: [yo]"));
    const mistake = page.getByRole("list", { name: "Mistakes" });
    await mistake.getByText("keyword").first().waitFor();
    assert.ok(await page.getByRole("button", { name: "Apply…" }).isDisabled());
    await mistake.getByRole("button").first().click();
    await page.waitForFunction(() => {
      const area = document.querySelector("textarea");
      return area.value.slice(area.selectionStart, area.selectionEnd).includes("keyword: [yo]");
    });
    await accessible(visit);

    await text.fill(before_.replace("keywords: [yo]", "keywords: [yo, dude]"));
    await page.getByText("Valid.", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Apply…" }).click();
    assert.match(await page.locator("ins").innerText(), /\[yo, dude\]/);
    await page.getByRole("button", { name: "Apply", exact: true }).click();
    await page.getByRole("status").getByText(/generation \d+ is active/).waitFor();
    assert.match(await readFile(daemon.file, "utf8"), /^# kept[^]*\[yo, dude\]/);

    await page.getByRole("button", { name: /^Roll back to/ }).first().click();
    await page.getByRole("button", { name: "Roll back", exact: true }).click();
    await page.waitForFunction(() => !document.querySelector("textarea").value.includes("dude"));
    assert.equal(await readFile(daemon.file, "utf8"), before_);
  });
});

test("models are listed with their state, and the page names the kernels in use", async () => {
  await visiting("models", {}, async (page, visit) => {
    await page.getByText("not loaded").first().waitFor();
    assert.match(await page.locator(".tiles").innerText(), /Kernels\s+(base|avx|vnni|bf16|amx|neon|i8mm)/);
    await accessible(visit);
  });
});

test("everything can be reached and done by keyboard", async () => {
  await visiting("try", {}, async (page) => {
    await page.locator(".sentence").waitFor();
    const focused = () => page.evaluate(() => document.activeElement?.textContent || document.activeElement?.getAttribute("aria-label"));
    const until = async (wanted) => {
      for (let i = 0; i < 60; ++i) {
        await page.keyboard.press("Tab");
        if ((await focused())?.startsWith(wanted)) return;
      }
      assert.fail(`the focus never came to ${wanted}`);
    };
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "Skip to the page");
    await until("Prompt");
    await until("Prompt"); // first the form's button, then the text
    await page.keyboard.press("Control+A");
    await page.keyboard.type("How long is the bridge and why is it so long?");
    await page.keyboard.press("Control+Enter");
    await page.locator(".sentence", { hasText: "facts" }).waitFor();
    await until("Send it");
  });
});

test("a phone shows every page without scrolling sideways", async () => {
  await visiting("try", { viewport: { width: 400, height: 740 } }, async (page, visit) => {
    for (const name of kPages) {
      await visit.open(name);
      if (name === "try") await page.locator(".sentence").waitFor();
      assert.ok((await visit.overflow()) <= 0, `${name} is ${await visit.overflow()} pixels too wide`);
    }
  });
});

test("the colours follow the system or the choice of the viewer", async () => {
  await visiting("try", { colorScheme: "dark" }, async (page, visit) => {
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    for (const name of kPages) {
      await visit.open(name);
      if (name === "try") await page.locator(".sentence").waitFor();
      assert.equal(await background(), "rgb(18, 19, 21)");
      await accessible(visit);
    }
    await page.getByRole("button", { name: "Colours: auto" }).click();
    await page.waitForFunction(() => getComputedStyle(document.body).backgroundColor === "rgb(246, 246, 244)");
  });
});

test("with tokens, each role sees and does only what it is permitted", async () => {
  const auth = `, auth: {mode: bearer, tokens: [{env: DASH_ADMIN, role: admin}, {env: DASH_OPERATOR, role: operator}, {env: DASH_VIEWER, role: viewer}]}`;
  Object.assign(process.env, { DASH_ADMIN: "a-token", DASH_OPERATOR: "o-token", DASH_VIEWER: "v-token" });
  const guarded = await Daemon.start(configuration(upstream.port, auth));
  const signIn = async (page, token) => {
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
  };
  try {
    await visiting("try", {}, async (page, visit) => {
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      await accessible(visit);
      await signIn(page, "wrong");
      await page.getByText("not known here").waitFor();
      await signIn(page, "v-token");
      await page.locator(".sentence").waitFor();
      assert.ok(await page.getByRole("button", { name: "Send it" }).isDisabled());
      await page.getByRole("link", { name: "Keys and budgets" }).click();
      await page.getByText("keys.read").waitFor();
      assert.equal(await page.getByRole("link", { name: "Audit log" }).count(), 0);
      await page.getByRole("link", { name: "Configuration", exact: true }).click();
      await page.getByText("not change it").waitFor();
      assert.equal(await page.getByRole("button", { name: "Apply…" }).count(), 0);
      await page.getByRole("link", { name: "Decisions" }).click();
      await page.getByText("recording is on, without texts unless a decision records them; maths has its own setting").waitFor();
      assert.equal(await page.getByRole("button", { name: "Switch recording" }).count(), 0);
    }, guarded.managementUrl);
    await visiting("try", {}, async (page) => {
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      await signIn(page, "o-token");
      await page.getByRole("button", { name: "Send it" }).click();
      await page.getByText("whole after").waitFor();
      assert.ok(!JSON.stringify(upstream.headers).includes("o-token"), "the token for this listener went to a model's server");
      await page.getByRole("link", { name: "Configuration", exact: true }).click();
      await page.getByRole("button", { name: "Apply…" }).waitFor();
      // The operator sees no secrets and gets the file without its comments, so the button may not write it back.
      const file = await readFile(guarded.file, "utf8");
      await page.getByRole("link", { name: "Decisions" }).click();
      await page.getByRole("button", { name: "Switch recording off" }).click();
      await page.getByRole("alert").filter({ hasText: "would lose the file's comments" }).waitFor();
      assert.equal(await readFile(guarded.file, "utf8"), file);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
    }, guarded.managementUrl);
    const chat = (token) =>
      fetch(`${guarded.managementUrl}/api/v1/chat`, { method: "POST", body: "{}", headers: token ? { authorization: `Bearer ${token}` } : {} });
    assert.equal((await chat("")).status, 401);
    assert.equal((await chat("v-token")).status, 403);
    assert.equal((await chat("o-token")).status, 400);
  } finally {
    await guarded.stop();
  }
});

test("without tokens, changes need the local token", async () => {
  const local = await Daemon.start(configuration(upstream.port, ""));
  const apply = (page) => page.getByRole("button", { name: "Apply…" });
  const change = (page) => page.getByRole("button", { name: "Sign in to make changes" });
  try {
    await visiting("configuration", {}, async (page, visit) => {
      await page.getByText("not change it").waitFor();
      assert.equal(await apply(page).count(), 0);
      await change(page).click();
      await page.getByText(join(local.folder, ".signalbox", "config.yaml.token")).waitFor();
      await accessible(visit);
      await page.getByRole("button", { name: "Back" }).click();
      await page.getByText("not change it").waitFor();
      await change(page).click();
      const signIn = async (token) => {
        await page.getByLabel("Token").fill(token);
        await page.getByRole("button", { name: "Sign in", exact: true }).click();
      };
      await signIn("wrong");
      await page.getByText("not known here").waitFor();
      await signIn((await local.authorization()).authorization.replace("Bearer ", ""));
      await apply(page).waitFor();
      await page.getByRole("button", { name: "Sign out" }).click();
      await change(page).waitFor();
    }, local.managementUrl);
    await visiting("configuration", {}, async (page) => {
      const token = (await local.authorization()).authorization.replace("Bearer ", "");
      await page.goto(`${local.managementUrl}/#token=${token}`);
      await page.getByRole("button", { name: "Sign out" }).waitFor();
      assert.ok(!page.url().includes(token), "the address of the page keeps the token");
    }, local.managementUrl);
  } finally {
    await local.stop();
  }
});

test("if there is no local token, the page gives the reason and shows no form", async () => {
  const put = async (file, text) => {
    await symlink("nowhere/at/all", join(dirname(file), ".signalbox"));
    await writeFile(file, text);
  };
  const local = await Daemon.start(configuration(upstream.port, ""), put);
  try {
    await visiting("configuration", {}, async (page, visit) => {
      await page.getByText(/there is no local token: .*STATE_DIRECTORY/).waitFor();
      assert.equal(await page.getByRole("button", { name: "Sign in to make changes" }).count(), 0);
      await accessible(visit);
    }, local.managementUrl);
  } finally {
    await local.stop();
  }
});

test("a page of another site can neither frame the dashboard nor send through it", async () => {
  const page = await fetch(`${daemon.managementUrl}/`);
  const policy = page.headers.get("content-security-policy");
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.equal((await fetch(`${daemon.managementUrl}/nowhere`)).status, 404);
  const again = await fetch(`${daemon.managementUrl}/`, { headers: { "if-none-match": page.headers.get("etag") } });
  assert.equal(again.status, 304);
  const foreign = await fetch(`${daemon.managementUrl}/api/v1/chat`, { method: "POST", body: "{}", headers: { origin: "https://elsewhere.example" } });
  assert.equal(foreign.status, 403);
  const rebound = await new Promise((done) => {
    request(`${daemon.managementUrl}/`, { headers: { host: "elsewhere.example" } }, (response) => done(response.statusCode)).end();
  });
  assert.equal(rebound, 403);
});
