// Small components that several pages use.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { Refused, json } from "./api";
import type { Piece } from "./diff";
import { type State, count, stateWords, utf8Length } from "./words";

export function Notice({ kind = "info", children }: { kind?: "info" | "warn" | "bad" | "ok"; children: ComponentChildren }) {
  return (
    <div class={`notice ${kind}`} role={kind === "bad" ? "alert" : "status"}>
      {children}
    </div>
  );
}

export type May = (permission: string) => boolean;

/// A text to copy, with its line breaks and its indentation.
export function Snippet({ label, text }: { label: string; text: string }) {
  const [copied, setCopied] = useState(false);
  const area = useRef<HTMLPreElement>(null);
  const copy = async () => {
    // Selected as well, because the clipboard is closed to pages that are neither on this machine nor encrypted.
    getSelection()?.selectAllChildren(area.current!);
    await navigator.clipboard?.writeText(text).then(() => setCopied(true), () => {});
  };
  return (
    <div class="snippet">
      <pre class="code" tabindex={0} aria-label={label} ref={area}>
        {text}
      </pre>
      <button type="button" onClick={() => void copy()}>
        {copied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}

/// Stands in place of missing data: it explains what is missing, and how to get it.
export function Empty({ title, children, yaml }: { title: string; children: ComponentChildren; yaml?: string }) {
  return (
    <div class="card empty">
      <h2>{title}</h2>
      <p>{children}</p>
      {yaml && <Snippet label="Configuration to add" text={yaml} />}
    </div>
  );
}

const kRoles: Record<string, string> = { THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };

/// A table inside of its card. `columns` are titles; "#" in one aligns it to the right, "?" hides it on phones. On phones each
/// row is a block, in which each cell has its column's title in front unless `bare`.
export function List({ label, columns, bare = false, children }: { label: string; columns: string[]; bare?: boolean; children: ComponentChildren }) {
  const titles = columns.map((each) => each.replace(/[#?]/g, ""));
  const table = useRef<HTMLTableElement>(null);
  useEffect(() => {
    for (const cell of table.current!.querySelectorAll<HTMLTableCellElement>("td")) {
      const title = cell.colSpan > 1 ? "" : titles[cell.cellIndex];
      if (title && !bare) cell.dataset.label = title;
      else delete cell.dataset.label;
    }
    // A browser forgets that a table is one if its rows are blocks.
    for (const each of table.current!.querySelectorAll("thead, tbody, tr, td")) each.setAttribute("role", kRoles[each.tagName]!);
    for (const each of table.current!.querySelectorAll<HTMLTableCellElement>("th"))
      each.setAttribute("role", each.scope === "col" ? "columnheader" : "rowheader");
  });
  return (
    <div class="card scroll" tabindex={0} role="region" aria-label={label}>
      <table class="list" role="table" ref={table}>
        <thead>
          <tr>
            {columns.map((title, i) => (
              <th scope="col" class={`${title.includes("#") ? "right" : ""} ${title.includes("?") ? "opt" : ""}`}>
                {titles[i] || <span class="sr">Action</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/// A mark with its meaning in words, so that it does not depend on colour alone.
export function Mark({ state }: { state: State }) {
  const sign = { yes: "●", no: "○", unneeded: "–", unknown: "?" }[state];
  return (
    <span class={`mark ${state}`}>
      <span aria-hidden="true">{sign}</span>
      <span class="sr">{stateWords[state]}: </span>
    </span>
  );
}

/// Headers in a closed section; renders nothing without headers.
export function Headers({ title, of }: { title: string; of: [string, string][] }) {
  if (of.length === 0) return null;
  return (
    <details>
      <summary>{title}</summary>
      <dl class="headers">
        {of.map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
    </details>
  );
}

const kContext = 60; // characters around a change

/// The changes between two texts, without long unchanged parts.
export function Changes({ pieces, whole = false }: { pieces: Piece[]; whole?: boolean }) {
  return (
    <pre class="code changes" tabindex={0} aria-label="Changes">
      {pieces.map((piece, i) => {
        if (piece.kind === "gone") return <del>{piece.text}</del>;
        if (piece.kind === "new") return <ins>{piece.text}</ins>;
        const first = i === 0, last = i === pieces.length - 1;
        if (whole || piece.text.length < 3 * kContext) return piece.text;
        const before = first ? "" : piece.text.slice(0, kContext);
        const after = last ? "" : piece.text.slice(-kContext);
        const left = utf8Length(piece.text) - utf8Length(before) - utf8Length(after);
        return (
          <>
            {before}
            <span class="gap"> ⋯ {count(left, "byte")} as they came ⋯ </span>
            {after}
          </>
        );
      })}
    </pre>
  );
}

/// True while the page is visible.
export function useVisible(): boolean {
  const [visible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const changed = () => setVisible(!document.hidden);
    document.addEventListener("visibilitychange", changed);
    return () => document.removeEventListener("visibilitychange", changed);
  }, []);
  return visible;
}

/// Runs at once, and then periodically while the page is visible.
export function useEvery(ms: number, run: () => Promise<void>, active = true) {
  const visible = useVisible();
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    if (!visible || !active) return;
    let over = false;
    let timer = 0;
    const go = async () => {
      await latest.current();
      if (!over) timer = setTimeout(go, ms) as unknown as number;
    };
    void go();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [visible, active, ms]);
}

/// Reads a path again and again, and returns its latest reply. `missing`: the path replied 404, because its feature is off.
export function usePolled<T>(path: string, ms: number) {
  const [data, setData] = useState<T | null>(null);
  const [error, setError] = useState("");
  const [missing, setMissing] = useState(false);
  const wanted = useRef(path);
  wanted.current = path;
  const read = async () => {
    try {
      const got = await json<T>(path);
      if (wanted.current !== path) return;
      setData(got);
      setError("");
      setMissing(false);
    } catch (caught) {
      if (wanted.current !== path) return;
      const off = caught instanceof Refused && caught.status === 404;
      setMissing(off);
      setError(off ? "" : (caught as Error).message);
    }
  };
  useEvery(ms, read);
  const first = useRef(true);
  useEffect(() => {
    if (first.current) first.current = false;
    else void read();
  }, [path]);
  return { data, error, missing, read };
}
