// Tests documents that the plugin rag adds to requests, with servers that play the document server and the model.

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";

import { Daemon } from "./daemon.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

let library, model;

const kTemplate = '{"question": "${user_content}", "count": ${top_k}}';

/// A file with one model and these decisions.
const file = ({ key = "", signals = "{}", decisions, services = "", catalog = "{}" }) => (port, management) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: plain}
  models: [{name: plain, ${key}backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}]
routing:
  signals: ${signals}
  decisions:
    ${decisions}
global:
  model_catalog: ${catalog}
  services: {${services}management_api: {bind_address: 127.0.0.1, port: ${management}}}
`;

function configuration({ rag = "", backend = "", plugins = "", key = "", path = "/search?index=a", timeout = 60, others = "", global = "" }) {
  return file({
    key,
    services: global,
    signals: "{keywords: [{name: masks, keywords: [mask]}, {name: also, keywords: [also]}]}",
    decisions: `${others}
    - name: answers
      plugins:
        - type: rag
          configuration:
            backend: external_api
            top_k: 2
            ${rag}
            backend_config:
              endpoint: "http://127.0.0.1:${library.port}${path}"
              request_format: custom
              request_template: '${kTemplate}'
              api_key: secret-of-the-library
              headers: {x-tenant: t1}
              timeout_seconds: ${timeout}
              ${backend}
        ${plugins}`,
  });
}

function hybrid(...ports) {
  return file({
    decisions: `- name: answers
      plugins:
        - type: rag
          configuration:
            backend: hybrid
            backend_config:
              primary: external_api
              primary_config: {endpoint: "http://127.0.0.1:${library.port}/bad", request_format: elasticsearch}
              fallback: openai
              fallback_config: {base_url: "http://127.0.0.1:${library.port}", vector_store_id: vs_1, api_key: k}`,
  })(...ports);
}

before(async () => {
  library = await ScriptedUpstream.start();
  model = await ScriptedUpstream.start();
});

after(async () => {
  await library?.stop();
  await model?.stop();
});

let searches;
beforeEach(() => {
  searches = 0;
  finds("The mast is 31 metres high.", "It was built in 1911.");
  model.received = undefined;
  model.answer = () => completion({ content: "The mast is 31 metres high." });
});

function libraryAnswers(answer) {
  library.answer = async (received) => ((searches += 1), answer(received));
}
function finds(...texts) {
  libraryAnswers(() => ({ body: { results: texts.map((text) => ({ text })) } }));
}

async function send(daemon, messages, more = {}) {
  const all = typeof messages === "string" ? [{ role: "user", content: messages }] : messages;
  const answer = await fetch(`${daemon.url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model: "auto", messages: all, ...more }),
  });
  return { status: answer.status, headers: answer.headers, body: await answer.text() };
}

async function withDaemon(options, run) {
  const daemon = await Daemon.start(configuration(options));
  try {
    await run(daemon);
  } finally {
    await daemon.stop();
  }
}

describe("documents for requests", () => {
  test("the model gets documents as the result of a tool", () =>
    withDaemon({}, async (daemon) => {
      const { status, headers } = await send(daemon, 'How high is the "mast"?');
      assert.equal(status, 200);
      assert.equal(headers.get("x-vsr-rag"), "added");
      assert.deepEqual(library.received, { question: 'How high is the "mast"?', count: 2 });
      assert.equal(library.path, "/search?index=a");
      assert.equal(library.headers.authorization, "Bearer secret-of-the-library");
      assert.equal(library.headers["x-tenant"], "t1");
      const [question, call, result] = model.received.messages;
      assert.deepEqual(question, { role: "user", content: 'How high is the "mast"?' });
      assert.equal(call.tool_calls[0].id, result.tool_call_id);
      assert.equal(result.content, "The mast is 31 metres high.\n\n---\n\nIt was built in 1911.");
      assert.equal(model.received.messages.length, 3);
    }));

  test("the model gets documents in the system prompt", () =>
    withDaemon(
      {
        rag: "injection_mode: system_prompt",
        plugins: "- {type: system_prompt, configuration: {mode: insert, system_prompt: Be brief.}}",
      },
      async (daemon) => {
        await send(daemon, [
          { role: "system", content: "You know ships." },
          { role: "user", content: "How high?" },
        ]);
        const [system] = model.received.messages;
        assert.equal(
          system.content,
          "Be brief.\n\nContext from knowledge base:\n\nThe mast is 31 metres high.\n\n---\n\nIt was built in 1911.\n\nYou know ships.",
        );
      },
    ));

  test("a request for a stream gets documents, too", () =>
    withDaemon({}, async (daemon) => {
      const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { content: "31" } }] };
      model.answer = () => ({ events: [chunk, "data: [DONE]\n\n"] });
      const { headers, body } = await send(daemon, "How high?", { stream: true });
      assert.equal(headers.get("x-vsr-rag"), "added");
      assert.match(body, /31/);
      assert.equal(model.received.messages.at(-1).role, "tool");
    }));

  test("a request of Anthropic's client gets documents for a server of either API", async () => {
    const ask = (daemon) =>
      fetch(`${daemon.url}/v1/messages`, {
        method: "POST",
        body: JSON.stringify({ model: "auto", max_tokens: 9, messages: [{ role: "user", content: "How high?" }] }),
      });
    await withDaemon({}, async (daemon) => {
      const answer = await ask(daemon);
      assert.equal(answer.headers.get("x-vsr-rag"), "added");
      await answer.text();
      assert.equal(model.received.messages.at(-1).role, "tool");
    });
    await withDaemon({ key: "api_format: anthropic, " }, async (daemon) => {
      model.answer = () => ({
        body: { id: "m", type: "message", role: "assistant", model: "m", content: [{ type: "text", text: "31" }], stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } },
      });
      const answer = await ask(daemon);
      assert.equal(answer.status, 200);
      await answer.text();
      assert.match(model.received.system, /^Context from knowledge base:\n\nThe mast is 31/);
      assert.equal(model.received.messages.length, 1);
    });
  });

  test("a completion gets documents in front of its prompt", () =>
    withDaemon({}, async (daemon) => {
      model.answer = () => ({ body: { id: "c", object: "text_completion", created: 1, model: "m", choices: [{ index: 0, text: "31", finish_reason: "stop" }] } });
      const complete = async (prompt) => {
        const answer = await fetch(`${daemon.url}/v1/completions`, { method: "POST", body: JSON.stringify({ model: "auto", prompt }) });
        assert.equal(answer.headers.get("x-vsr-rag"), "added");
        await answer.text();
        return model.received.prompt;
      };
      const documents = "The mast is 31 metres high.\n\n---\n\nIt was built in 1911.";
      assert.equal(await complete("How high?"), `${documents}\n\nHow high?`);
      assert.deepEqual(await complete(["How old?", "How high?"]), [`${documents}\n\nHow old?`, `${documents}\n\nHow high?`]);
    }));

  test("the server of documents is called at the path of the file, with its last slash", () =>
    withDaemon({ path: "/search/?index=a" }, async (daemon) => {
      await send(daemon, "How high?");
      assert.equal(library.path, "/search/?index=a");
    }));

  test("the key for documents has its prefix in the header Authorization, in any case of letters", () =>
    withDaemon({ backend: "auth_header: authorization" }, async (daemon) => {
      await send(daemon, "How high?");
      assert.equal(library.headers.authorization, "Bearer secret-of-the-library");
    }));

  test("the reply is checked against the documents", () =>
    withDaemon({ plugins: "- {type: hallucination, configuration: {hallucination_action: header}}" }, async (daemon) => {
      const right = await send(daemon, "How high is the mast?");
      assert.equal(right.headers.get("x-vsr-response-warnings"), null);
      model.answer = () => completion({ content: "The mast is 44 metres high." });
      const wrong = await send(daemon, "How high is the mast?");
      assert.equal(wrong.headers.get("x-vsr-response-warnings"), "hallucination");
    }));

  test("the search for documents does not get masked data", () =>
    withDaemon(
      { plugins: "- {type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}" },
      async (daemon) => {
        await send(daemon, "What did ann.example@mail.example.org order?");
        assert.doesNotMatch(library.body, /ann\.example/);
        assert.match(library.received.question, /^What did \[EMAIL_ADDRESS_1\] order\?$/);
      },
    ));

  test("the search for documents does not get masked data that contains other masked data", () =>
    withDaemon(
      { plugins: "- {type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}" },
      async (daemon) => {
        await send(daemon, "Mail ann@mail.example.org, then ann@mail.example.org.secrets.example.net");
        assert.match(library.received.question, /^Mail \[EMAIL_ADDRESS_1\], then \[EMAIL_ADDRESS_2\]$/);
      },
    ));

  test("a server that compares embeddings gets one of the masked text", async () => {
    const inputs = [];
    const embedder = await ScriptedUpstream.start();
    embedder.answer = ({ input }) => {
      inputs.push(...input);
      return { body: { data: input.map((_, index) => ({ index, embedding: [0.6, 0.8] })) } };
    };
    const daemon = await Daemon.start(
      file({
        decisions: `- name: answers
      plugins:
        - {type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}
        - type: rag
          configuration: {backend: external_api, backend_config: {endpoint: "http://127.0.0.1:${library.port}/query", request_format: pinecone}}`,
        catalog: `{embeddings: {semantic: {endpoint: {base_url: "http://127.0.0.1:${embedder.port}/v1", model: e, dimensions: 2}}}}`,
      }),
    );
    try {
      libraryAnswers(() => ({ body: { matches: [{ score: 0.9, metadata: { text: "31 metres" } }] } }));
      const { headers } = await send(daemon, "What did ann.example@mail.example.org order?");
      assert.equal(headers.get("x-vsr-rag"), "added");
      assert.equal(library.received.vector.length, 2);
      assert.deepEqual(inputs, ["What did [EMAIL_ADDRESS_1] order?"]);
    } finally {
      await daemon.stop();
      await embedder.stop();
    }
  });

  test("found documents are kept if the file requests it", () =>
    withDaemon({ rag: "cache_results: true" }, async (daemon) => {
      await send(daemon, "How high?");
      const { headers } = await send(daemon, "How high?");
      assert.equal(headers.get("x-vsr-rag"), "added");
      assert.equal(searches, 1);
      await send(daemon, "How old?");
      assert.equal(searches, 2);
    }));
});

describe("documents that are kept", () => {
  test("kept documents fit in a bounded number of bytes", () =>
    withDaemon({ rag: "cache_results: true" }, async (daemon) => {
      libraryAnswers(({ question }) => ({ body: { text: question.repeat(1 << 20) } }));
      for (const name of ["first", "other", "third"]) await send(daemon, name); // 5 MiB each
      await send(daemon, "third");
      assert.equal(searches, 3);
      await send(daemon, "fourth"); // 6 MiB, so the first one has to go
      await send(daemon, "first");
      assert.equal(searches, 5);
    }));
});

describe("searches that fail", () => {
  const failures = {
    "an error": () => libraryAnswers(() => ({ status: 500, body: "" })),
    "a reply of another form": () => libraryAnswers(() => ({ body: { secret: 1 } })),
    "a reply that does not come": () => libraryAnswers(() => new Promise(() => {})),
  };

  for (const [name, fail] of Object.entries(failures)) {
    const timeout = name === "a reply that does not come" ? 1 : 60;
    test(`${name}: the request goes on without documents`, () =>
      withDaemon({ timeout }, async (daemon) => {
        fail();
        const { status, headers } = await send(daemon, "How high?");
        assert.equal(status, 200);
        assert.equal(headers.get("x-vsr-rag"), "failed");
        assert.equal(model.received.messages.length, 1);
      }));

    test(`${name}: the request is refused if the file requires it`, () =>
      withDaemon({ timeout, rag: "on_failure: block" }, async (daemon) => {
        fail();
        const { status, body } = await send(daemon, "How high?");
        assert.equal(status, 502);
        assert.match(body, /decision \\"answers\\" answers only with documents, and the search for them failed/);
        assert.equal(model.received, undefined);
        await until(() => /document server 127\.0\.0\.1/.test(daemon.log));
        assert.doesNotMatch(daemon.log, /How high|secret/);
      }));
  }

  test("metrics count failed searches, also if the request is refused", () =>
    withDaemon({ rag: "on_failure: block" }, async (daemon) => {
      finds();
      assert.equal((await send(daemon, "How high?")).status, 404);
      libraryAnswers(() => ({ status: 500, body: "" }));
      assert.equal((await send(daemon, "How high?")).status, 502);
      const metrics = async () => (await fetch(`${daemon.managementUrl}/metrics`)).text();
      await until(async () => /signalbox_rag_total\{outcome="failed"\} 1/.test(await metrics()));
      assert.match(await metrics(), /signalbox_rag_total\{outcome="nothing"\} 1/);
    }));

  test("a server that hangs for two decisions does not hold the requests of others", () =>
    withDaemon(
      {
        timeout: 30,
        global: "http: {decision_timeout: 40s, model_threads: 1}, ",
        others: `- name: masks
      priority: 9
      rules: {type: keyword, name: masks}
      plugins: [{type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}]
    - name: also
      priority: 8
      rules: {type: keyword, name: also}
      plugins: [{type: rag, configuration: {backend: external_api, backend_config: {endpoint: "http://127.0.0.1:${library.port}", request_format: elasticsearch, timeout_seconds: 30}}}]`,
      },
      async (daemon) => {
        const gone = new AbortController();
        libraryAnswers(() => new Promise(() => {}));
        const search = (i) =>
          fetch(`${daemon.url}/v1/chat/completions`, {
            method: "POST",
            body: JSON.stringify({ model: "auto", messages: [{ role: "user", content: `How high ${i % 2 ? "also" : ""} ${i}?` }] }),
            signal: gone.signal,
          }).catch(() => {});
        const hung = [...Array(20).keys()].map(search);
        await until(() => searches >= 4);
        const { status } = await send(daemon, "Ships mask nothing.");
        assert.equal(status, 200);
        // None of the four searches has ended, so the thread of the other request was never theirs.
        assert.equal(searches, 4);
        gone.abort();
        await Promise.all(hung);
      },
    ));

  test("the time limit of a hybrid search holds for each of its servers", async () => {
    const limited = (...ports) =>
      hybrid(...ports)
        .replace("backend_config:\n", "backend_config:\n              timeout_seconds: 5\n")
        .replace("services: {", "services: {http: {decision_timeout: 60s}, ");
    const daemon = await Daemon.start(limited);
    try {
      const body = { data: [{ score: 0.9, content: "31 metres" }] };
      libraryAnswers(() => (library.path === "/bad" ? new Promise(() => {}) : { body }));
      assert.equal((await send(daemon, "How high?")).headers.get("x-vsr-rag"), "added");
    } finally {
      await daemon.stop();
    }
  });

  test("a server that fails and one without documents: the search has failed", async () => {
    const daemon = await Daemon.start(hybrid);
    try {
      libraryAnswers(() => (library.path === "/bad" ? { status: 503, body: "" } : { body: { data: [] } }));
      assert.equal((await send(daemon, "How high?")).headers.get("x-vsr-rag"), "failed");
    } finally {
      await daemon.stop();
    }
  });

  test("a search without documents: the request is refused as not found", () =>
    withDaemon({ rag: "on_failure: block" }, async (daemon) => {
      finds();
      const { status, body } = await send(daemon, "How high?");
      assert.equal(status, 404);
      assert.match(body, /there is none for this request/);
    }));

  test("a search without documents: the request goes on", () =>
    withDaemon({}, async (daemon) => {
      finds();
      const { status, headers } = await send(daemon, "How high?");
      assert.equal(status, 200);
      assert.equal(headers.get("x-vsr-rag"), "nothing");
    }));

  test("another backend takes over from a failed search", async () => {
    const daemon = await Daemon.start(hybrid);
    try {
      const body = { data: [{ score: 0.9, content: [{ type: "text", text: "31 metres" }] }] };
      libraryAnswers(() => (library.path === "/bad" ? { status: 503, body: "" } : { body }));
      const { headers } = await send(daemon, "How high?");
      assert.equal(headers.get("x-vsr-rag"), "added");
      assert.equal(library.path, "/v1/vector_stores/vs_1/search");
      assert.equal(model.received.messages.at(-1).content, "31 metres");
    } finally {
      await daemon.stop();
    }
  });
});
