// The last requests and their outcomes. A user's text appears only if the configuration records it and the viewer requests
// it.

import { useState } from "preact/hooks";

import { type Record_, json } from "./api";
import { type May, List, Notice, useEvery } from "./parts";
import { NotRecorded, NotSwitched, recordingWords, useRecording } from "./recording";
import { tryAgain } from "./try";
import { cause, moment, money, ms } from "./words";

interface Page {
  total: number;
  data: Record_[];
}
const kLimit = 100;

const kOutcomes = ["all", "answered", "failed", "blocked", "client's mistake", "from the cache", "refused by a server"] as const;
type Outcome = (typeof kOutcomes)[number];

function outcome(record: Record_): { kind: Outcome; words: string; mood: string } {
  if (record.error) {
    const { blame, words } = cause(record.error);
    const short = record.error.replaceAll("_", " ");
    if (blame === "mistake") return { kind: "client's mistake", words: `client: ${short}`, mood: "" };
    if (blame === "server") return { kind: "refused by a server", words: `refused by the server: ${record.status}`, mood: "warn" };
    if (blame === "refused") return { kind: "blocked", words: `blocked: ${words}`, mood: "warn" };
    return { kind: "failed", words: short, mood: "bad" };
  }
  if (record.response_path === "blocked") return { kind: "blocked", words: "blocked", mood: "warn" };
  if (record.status >= 500) return { kind: "failed", words: "failed", mood: "bad" };
  if (record.cache === "hit" || record.cache === "near") return { kind: "from the cache", words: "from the cache", mood: "ok" };
  return { kind: "answered", words: record.response_path === "fast_response" ? "answered by the router" : "answered", mood: record.response_path === "fast_response" ? "" : "ok" };
}

const client = (record: Record_) => record.key ?? record.user;

function Texts({ record }: { record: Record_ }) {
  const [whole, setWhole] = useState<Record_ | null>(null);
  const [error, setError] = useState("");
  const show = async () => {
    try {
      setWhole(await json<Record_>(`/v1/router_replay/${encodeURIComponent(record.id)}`));
    } catch (caught) {
      setError((caught as Error).message);
    }
  };
  if (error) return <Notice kind="bad">{error}</Notice>;
  if (!whole) return <button onClick={() => void show()}>Show texts and shadows</button>;
  return (
    <>
      {!whole.request_body && !whole.response_body && (
        <p class="muted">
          No text was recorded. A decision's plugin <code>router_replay</code> with <code>capture_request_body</code> records it.
        </p>
      )}
      {whole.request_body && (
        <div class="stack tight">
          <div class="head">
            <h3>Request to the server</h3>
            <span class="grow" />
            <button disabled={whole.request_body_truncated === true} onClick={() => tryAgain(again(whole.request_body!))}>
              Try it again
            </button>
          </div>
          <pre class="code" tabindex={0}>
            {whole.request_body}
          </pre>
        </div>
      )}
      {whole.response_body && (
        <div class="stack tight">
          <h3>Reply from the server</h3>
          <pre class="code" tabindex={0}>
            {whole.response_body}
          </pre>
        </div>
      )}
      {(whole.shadows ?? []).map((shadow) => (
        <div class="stack tight">
          <h3>Shadow: {shadow.model}</h3>
          <p>
            {shadow.outcome.replaceAll("_", " ")}
            {shadow.similarity !== undefined && `, similarity ${shadow.similarity.toFixed(3)}`}, {ms(shadow.ms)}
            {shadow.prompt_tokens !== undefined && `, ${shadow.prompt_tokens} + ${shadow.completion_tokens} tokens`}
          </p>
          {shadow.response && (
            <pre class="code" tabindex={0}>
              {shadow.response}
            </pre>
          )}
        </div>
      ))}
    </>
  );
}

/// The request as the client may have sent it: with the recorded model, it would now bypass the decision.
function again(body: string): string {
  try {
    return JSON.stringify({ ...JSON.parse(body), model: "auto" }, null, 2);
  } catch {
    return body;
  }
}

function Detail({ record, may }: { record: Record_; may: May }) {
  const facts: [string, string | undefined][] = [
    ["Request", record.request_id],
    ["Path", record.path],
    ["Status", String(record.status)],
    ["Recipe", record.recipe],
    ["Outcome", record.error && cause(record.error).words],
    // A decision without conditions has the confidence 0, which would look like an error.
    ["Confidence", record.confidence ? record.confidence.toFixed(3) : record.decision && "matches every request"],
    ["Key", record.key],
    ["User", record.user],
    ["Category", record.category],
    ["Algorithm", record.algorithm],
    ["Chosen by", record.selection_method as string | undefined],
    ["Cache", record.cache],
    ["Routing", record.routing_ms !== undefined ? ms(record.routing_ms) : undefined],
    ["Model", record.upstream_ms !== undefined ? ms(record.upstream_ms) : undefined],
    ["First token", record.ttft_ms !== undefined ? ms(record.ttft_ms) : undefined],
    ["Tokens", record.prompt_tokens !== undefined ? `${record.prompt_tokens} read, ${record.completion_tokens} written` : undefined],
    ["Cost", record.cost === undefined ? undefined : money(record.cost, record.currency ?? "")],
    ["Degraded", record.degraded],
    ["Override attempt", record.jailbreak],
    ["Personal data", record.pii_types?.join(", ")],
    ["Claims", record.hallucination],
  ];
  const signals = Object.entries(record.signals ?? {});
  return (
    <div class="stack">
      <p>
        <span class="muted">Matched: </span>
        {signals.length === 0
          ? "no signal"
          : signals.map(([type, names]) => (
              <span class="chip still">
                {type} <b>{names.join(", ")}</b>
              </span>
            ))}
      </p>
      <dl class="facts">
        {facts
          .filter(([, value]) => value)
          .map(([name, value]) => (
            <div>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      {may("replay.detail") ? <Texts record={record} /> : <p class="muted">Your role may not see recorded texts.</p>}
    </div>
  );
}

export function Decisions({ may }: { may: May }) {
  const [list, setList] = useState<Page | null>(null);
  const [error, setError] = useState("");
  const [follow, setFollow] = useState(true);
  const [filter, setFilter] = useState({ decision: "", model: "", outcome: "all" as Outcome, id: "" });
  const [open, setOpen] = useState("");
  const recording = useRecording(may);
  const [names, setNames] = useState<{ decisions: string[]; models: string[] }>({ decisions: [], models: [] });

  const read = async () => {
    try {
      const query = new URLSearchParams({ limit: String(kLimit) });
      if (filter.decision) query.set("decision", filter.decision);
      if (filter.model) query.set("model", filter.model);
      const got = await json<Page>(`/v1/router_replay?${query}`);
      setList(got);
      setNames((before) => ({
        decisions: [...new Set([...before.decisions, ...got.data.map((each) => each.decision ?? "")])].filter(Boolean).sort(),
        models: [...new Set([...before.models, ...got.data.map((each) => each.selected_model ?? "")])].filter(Boolean).sort(),
      }));
      setError("");
    } catch (caught) {
      setError((caught as Error).message);
    }
  };
  useEvery(3000, read, follow && open === "");
  const choose = (more: Partial<typeof filter>) => {
    Object.assign(filter, more);
    setFilter({ ...filter });
    void read();
  };

  const shown = (list?.data ?? []).filter(
    (record) =>
      (filter.outcome === "all" || outcome(record).kind === filter.outcome) &&
      (!filter.id || record.request_id.includes(filter.id) || record.id.includes(filter.id)),
  );
  return (
    <>
      <div class="head">
        <h1>Decisions</h1>
        {recording.on !== null && <span class="muted">{recordingWords(recording)}</span>}
        <span class="grow" />
        {recording.on && may("config.write") && <button onClick={() => void recording.set(false)}>Switch recording off</button>}
        <label class="check">
          <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.currentTarget.checked)} /> Follow
        </label>
      </div>
      <NotSwitched recording={recording} />
      <form class="row wrap filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Decision
          <select value={filter.decision} onChange={(event) => choose({ decision: event.currentTarget.value })}>
            <option value="">all</option>
            {names.decisions.map((name) => (
              <option>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Model
          <select value={filter.model} onChange={(event) => choose({ model: event.currentTarget.value })}>
            <option value="">all</option>
            {names.models.map((name) => (
              <option>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Outcome
          <select value={filter.outcome} onChange={(event) => choose({ outcome: event.currentTarget.value as Outcome })}>
            {kOutcomes.map((name) => (
              <option>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Id
          <input type="search" value={filter.id} onInput={(event) => choose({ id: event.currentTarget.value })} />
        </label>
      </form>
      {error && <Notice kind="bad">{error}</Notice>}
      {list && list.data.length === 0 && !filter.decision && !filter.model && <NotRecorded recording={recording} may={may} />}
      {list && shown.length === 0 && (list.data.length > 0 || filter.decision || filter.model) && (
        <p class="card empty muted">None of the last {kLimit} requests matches.</p>
      )}
      {shown.length > 0 && (
        <List label="Requests" bare columns={["Time", "Status", "?Path", "?Client", "Decision", "Model", "Outcome", "#?Tokens", "#?Total"]}>
          {shown.map((record) => {
            const became = outcome(record);
            const opened = open === record.id;
            const turn = () => setOpen(opened ? "" : record.id);
            return (
              <>
                <tr class={`clickable ${opened ? "open" : ""}`} key={record.id} onClick={turn}>
                  <td class="nowrap">
                    <button
                      class="link num"
                      aria-expanded={opened}
                      onClick={(event) => {
                        event.stopPropagation();
                        turn();
                      }}
                      title={record.timestamp}
                    >
                      {record.timestamp ? moment(record.timestamp) : record.id}
                    </button>
                  </td>
                  <td class="num">{record.status}</td>
                  <td class="opt">{record.path}</td>
                  <td class="opt">{client(record) ?? <span class="muted">none</span>}</td>
                  <td>{record.decision ?? <span class="muted">none</span>}</td>
                  <td>{record.selected_model ?? <span class="muted">none</span>}</td>
                  <td>
                    <span class={`pill ${became.mood}`}>{became.words}</span>
                  </td>
                  <td class="num right opt">
                    {record.prompt_tokens !== undefined ? `${record.prompt_tokens} + ${record.completion_tokens}` : <span class="muted">none</span>}
                  </td>
                  <td class="num right opt">{record.total_ms !== undefined ? ms(record.total_ms) : ""}</td>
                </tr>
                {opened && (
                  <tr class="detail" key={`${record.id} detail`}>
                    <td colSpan={9}>
                      <Detail record={record} may={may} />
                    </td>
                  </tr>
                )}
              </>
            );
          })}
        </List>
      )}
      {list && list.total > kLimit && <p class="muted">The newest {kLimit} of {list.total.toLocaleString("en")}.</p>}
    </>
  );
}
