// The active configuration: edit it with errors shown while typing, compare, apply, roll back.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { Refused, call, json, post } from "./api";
import { diff, lines } from "./diff";
import { Editor, find } from "./editor";
import { type May, Notice } from "./parts";
import { count } from "./words";

interface Review {
  valid: boolean;
  errors: string[];
  notices: string[];
  takes_restart: string[];
}
interface Version {
  version: string;
  timestamp?: string;
}
interface Status {
  file: string;
  generation: number;
  since: string;
  refused: { why: string; at: string } | null;
}

const kPauseMs = 400;

/// "config.yaml:14: ..." names a line.
const lineOf = (message: string): number | null => {
  const found = /^[^\s:]*:(\d+):/.exec(message);
  return found ? Number(found[1]) : null;
};
/// The message without its place.
const reasonOf = (message: string) => message.replace(/^[^\s:]*:\d+:\s*/, "");

/// Finds words in the file, and goes from one place to the next with Enter.
function Search({ words, total, at, choose, step }: {
  words: string;
  total: number;
  at: number;
  choose: (words: string) => void;
  step: (by: number) => void;
}) {
  return (
    <form
      class="row search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        step(1);
      }}
    >
      <input type="search" aria-label="Search the configuration" placeholder="Search" value={words} onInput={(event) => choose(event.currentTarget.value)} />
      <span class="muted num nowrap" role="status">
        {words === "" ? "" : total === 0 ? "not found" : `${at + 1} of ${total}`}
      </span>
      <button type="button" aria-label="Previous place" disabled={total === 0} onClick={() => step(-1)}>
        ↑
      </button>
      <button aria-label="Next place" disabled={total === 0}>
        ↓
      </button>
    </form>
  );
}

function Said({ review, jump }: { review: Review; jump: (line: number) => void }) {
  return (
    <>
      {review.errors.length > 0 && (
        <ul class="said bad" aria-label="Mistakes">
          {review.errors.flatMap((each) => each.split("\n")).map((each) => {
            const line = lineOf(each);
            return <li>{line ? <button class="link" onClick={() => jump(line)}>{each}</button> : each}</li>;
          })}
        </ul>
      )}
      {review.takes_restart.length > 0 && (
        <ul class="said warn" aria-label="Takes a restart">
          {review.takes_restart.map((each) => (
            <li>Needs a restart: {each}</li>
          ))}
        </ul>
      )}
      {review.notices.length > 0 && (
        <details>
          <summary>{count(review.notices.length, "notice")}</summary>
          <ul class="said">
            {review.notices.map((each) => (
              <li>{each}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

export function Configuration({ may }: { may: May }) {
  const [serving, setServing] = useState<{ text: string; etag: string } | null>(null);
  const [text, setText] = useState("");
  const [review, setReview] = useState<Review | null>(null);
  const [status, setStatus] = useState<Status | null>(null);
  const [versions, setVersions] = useState<Version[]>([]);
  const [view, setView] = useState<"edit" | "compare">("edit");
  const [asking, setAsking] = useState<null | { what: "apply" } | { what: "rollback"; version: string }>(null);
  const [said, setSaid] = useState<{ kind: "ok" | "bad"; text: string } | null>(null);
  const [busy, setBusy] = useState(false);
  const [searched, setSearched] = useState("");
  const [place, setPlace] = useState(0);
  const area = useRef<HTMLTextAreaElement | null>(null);
  const turn = useRef(0);
  const mayWrite = may("config.write");

  const load = async () => {
    try {
      const response = await call("/config/router?format=file");
      const now = { text: await response.text(), etag: response.headers.get("etag") ?? "" };
      setServing(now);
      setText(now.text);
      setStatus(await json<Status>("/config/status"));
      setVersions(await json<Version[]>("/config/router/versions").catch(() => []));
    } catch (caught) {
      setSaid({ kind: "bad", text: (caught as Error).message });
    }
  };
  useEffect(() => void load(), []);

  useEffect(() => {
    if (!mayWrite || !serving) return;
    const mine = ++turn.current;
    const timer = setTimeout(async () => {
      try {
        const found = await post<Review>("/config/router/validate", text, { headers: {} });
        if (mine === turn.current) setReview(found);
      } catch (caught) {
        if (mine === turn.current && caught instanceof Refused)
          setReview({ valid: false, errors: [caught.message], notices: [], takes_restart: [] });
      }
    }, kPauseMs);
    return () => clearTimeout(timer);
  }, [text, serving?.etag, mayWrite]);

  const pieces = useMemo(() => (serving ? diff(lines(serving.text), lines(text)) : []), [serving, text]);
  const changed = serving !== null && serving.text !== text;
  const problems = useMemo(() => {
    const out = new Map<number, string>();
    for (const each of (review?.errors ?? []).flatMap((one) => one.split("\n"))) {
      const line = lineOf(each);
      if (line !== null) out.set(line, [out.get(line), reasonOf(each)].filter(Boolean).join("; "));
    }
    return out;
  }, [review]);
  const found = useMemo(() => find(text, searched), [text, searched]);
  const here = found.length === 0 ? 0 : Math.min(place, found.length - 1);

  /// Selects a part of a line, from 1, or all of it; a search keeps the focus.
  const jump = (line: number, part?: { begin: number; end: number }) => {
    setView("edit");
    setTimeout(() => {
      const element = area.current;
      if (!element) return;
      const begin = text.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
      const end = text.indexOf("\n", begin);
      if (!part) element.focus();
      element.setSelectionRange(begin + (part?.begin ?? 0), part ? begin + part.end : end < 0 ? text.length : end);
      element.scrollTop = Math.max(0, (line - 6) * parseFloat(getComputedStyle(element).lineHeight));
    });
  };
  const show = (all: typeof found, at: number) => {
    setPlace(at);
    const match = all[at];
    if (match) jump(match.line + 1, match);
  };
  const change = async (run: () => Promise<{ message: string }>) => {
    setBusy(true);
    setAsking(null);
    try {
      const done = await run();
      await load();
      setView("edit");
      setSaid({ kind: "ok", text: done.message });
    } catch (caught) {
      setSaid({ kind: "bad", text: (caught as Error).message });
    }
    setBusy(false);
  };
  const apply = () =>
    change(() => json("/config/router", { method: "PUT", headers: { "If-Match": serving!.etag, "Content-Type": "application/yaml" }, body: text }));
  const rollBack = (version: string) => change(() => post("/config/router/rollback", { version }));

  if (!serving) {
    return (
      <>
        <h1>Configuration</h1>
        {said ? <Notice kind={said.kind}>{said.text}</Notice> : <p class="muted">Reading…</p>}
      </>
    );
  }
  return (
    <>
      <div class="head">
        <h1>Configuration</h1>
        {status && (
          <span class="muted">
            {status.file && `${status.file.split("/").at(-1)}, `}generation {status.generation}, since{" "}
            {new Date(status.since).toLocaleString("en-GB")}
          </span>
        )}
      </div>
      {status?.refused && <Notice kind="bad">The file on disk is newer and was refused: {status.refused.why}</Notice>}
      {said && <Notice kind={said.kind}>{said.text}</Notice>}
      {!mayWrite && <Notice>You may read the configuration, but not change it.</Notice>}
      <div class="row wrap">
        <div class="row" role="group" aria-label="View">
          <button class="tab" aria-pressed={view === "edit"} onClick={() => setView("edit")}>
            {mayWrite ? "Edit" : "Read"}
          </button>
          <button class="tab" aria-pressed={view === "compare"} onClick={() => setView("compare")} disabled={!changed}>
            Compare
          </button>
        </div>
        <span class="grow" />
        <Search
          words={searched}
          total={found.length}
          at={here}
          choose={(words) => {
            setSearched(words);
            show(find(text, words), 0);
          }}
          step={(by) => found.length > 0 && show(found, (here + by + found.length) % found.length)}
        />
        {mayWrite && (
          <>
            <button disabled={!changed || busy} onClick={() => setText(serving.text)}>
              Discard
            </button>
            <button class="primary" disabled={!changed || busy || !review?.valid} onClick={() => (setAsking({ what: "apply" }), setView("compare"))}>
              Apply…
            </button>
          </>
        )}
      </div>
      {asking && (
        <div class="notice warn row wrap" role="alertdialog" aria-label="Confirm">
          <span>
            {asking.what === "apply"
              ? "This replaces the file and activates the configuration below. Requests in progress finish with the old one."
              : `This activates version ${asking.version} again.`}
          </span>
          <span class="grow" />
          <button onClick={() => setAsking(null)}>Cancel</button>
          <button class="primary" autofocus onClick={() => void (asking.what === "apply" ? apply() : rollBack(asking.version))}>
            {asking.what === "apply" ? "Apply" : "Roll back"}
          </button>
        </div>
      )}
      {view === "edit" ? (
        <Editor text={text} problems={problems} found={found[here]} disabled={!mayWrite || busy} onInput={setText} area={area} />
      ) : (
        <pre class="code changes tall" tabindex={0} aria-label="Changes to the configuration">
          {pieces.map((piece, i) => {
            if (piece.kind !== "same") return piece.kind === "gone" ? <del>{piece.text}</del> : <ins>{piece.text}</ins>;
            const all = lines(piece.text);
            if (all.length <= 7) return piece.text;
            const before = i === 0 ? [] : all.slice(0, 3), after = i === pieces.length - 1 ? [] : all.slice(-3);
            return (
              <>
                {before.join("")}
                <span class="gap">{`⋯ ${all.length - before.length - after.length} unchanged lines ⋯\n`}</span>
                {after.join("")}
              </>
            );
          })}
        </pre>
      )}
      {mayWrite && (
        <div id="review" aria-live="polite">
          {review && (
            <>
              <p class={review.valid ? "ok-text" : "bad-text"}>
                {review.valid ? (changed ? "Valid." : "Valid, and equal to the active configuration.") : count(review.errors.flatMap((each) => each.split("\n")).length, "mistake")}
              </p>
              <Said review={review} jump={jump} />
            </>
          )}
        </div>
      )}
      <section class="card">
        <h2>Versions</h2>
        {versions.length === 0 ? (
          <p class="muted">None yet. The last ten replaced files are kept here.</p>
        ) : (
          <table class="plain">
            <thead class="sr">
              <tr>
                <th scope="col">Version</th>
                <th scope="col">Action</th>
              </tr>
            </thead>
            <tbody>
              {versions.map((each) => (
                <tr>
                  <th scope="row" class="num">
                    {each.timestamp ?? each.version}
                  </th>
                  <td class="right">
                    {mayWrite && (
                      <button disabled={busy} onClick={() => setAsking({ what: "rollback", version: each.version })} aria-label={`Roll back to ${each.version}`}>
                        Roll back…
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
    </>
  );
}
