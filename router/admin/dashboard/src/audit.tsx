// The newest entries of the audit log: who changed what, and who was refused.

import { useState } from "preact/hooks";

import type { AuditEntry, AuditLog } from "./api";
import { Empty, List, Notice, usePolled } from "./parts";
import { cause, moment } from "./words";

const kEvents: Record<string, string> = {
  change: "change through the API",
  change_begins: "change begins",
  configuration: "new configuration",
  configuration_begins: "new configuration begins",
  configuration_rejected: "configuration rejected",
  key_added: "key added",
  key_changed: "key changed",
  key_removed: "key removed",
  keys_read: "keys read from their store",
  refusals_omitted: "further refusals",
  torn_line_cut: "interrupted line cut off",
  file_replaced: "the file was replaced",
  file_truncated: "the file was cut",
  entries_dropped: "entries did not fit",
};
/// Events that an operator should look at.
const kAlarming = ["configuration_rejected", "file_replaced", "file_truncated", "entries_dropped", "torn_line_cut"];
/// Members with a column of their own, and those of the chain.
const kShown = ["entry", "time", "previous", "event", "who", "from", "status"];
const kDigestDigits = 64;

const refusalsFile = (file: string) => file.replace(/(\.[^.]*)?$/, "-refusals$1");

/// The words for a member's name.
function nameOf(name: string, entry: AuditEntry): string {
  if (name === "what" && String(entry.path).startsWith("/api/v1/keys")) return "key";
  if (name === "after" && entry.event.startsWith("key_")) return "digest of the keys";
  return name;
}

function detail(entry: AuditEntry): string {
  const parts = Object.entries(entry)
    .filter(([name]) => !kShown.includes(name))
    .map(([name, value]) => {
      if (name === "reason") return cause(String(value)).words;
      if (name === "method" || name === "path") return String(value);
      const text = String(value);
      return `${nameOf(name, entry)} ${text.length === kDigestDigits ? `${text.slice(0, 12)}…` : text}`;
    });
  return parts.join(" · ");
}

export function Audit() {
  const [which, setWhich] = useState<"changes" | "refusals">("changes");
  const { data, error, missing } = usePolled<AuditLog>("/api/v1/audit?limit=200", 5000);
  const entries = data?.[which] ?? [];
  return (
    <>
      <div class="head">
        <h1>Audit log</h1>
        {data && <span class="muted">the newest entries of {data.file} and its file of refusals</span>}
        <span class="grow" />
        {data && (
          <div class="row" role="group" aria-label="Entries">
            <button class="tab" aria-pressed={which === "changes"} onClick={() => setWhich("changes")}>
              Changes
            </button>
            <button class="tab" aria-pressed={which === "refusals"} onClick={() => setWhich("refusals")}>
              Refusals
            </button>
          </div>
        )}
      </div>
      {error && <Notice kind="bad">{error}</Notice>}
      {!data && !error && !missing && <p class="muted">Reading…</p>}
      {missing && (
        <Empty title="There is no audit log" yaml={"global:\n  services:\n    audit: {file: audit/audit.jsonl}"}>
          Name its file in the <a href="#/configuration">configuration</a> and restart the router, which then notes each change and
          each refusal.
        </Empty>
      )}
      {data && entries.length === 0 && (
        <p class="card empty muted">{which === "changes" ? "Nothing has changed yet." : "No request has been refused yet."}</p>
      )}
      {entries.length > 0 && (
        <List bare label={which === "changes" ? "Changes" : "Refusals"} columns={["#?Entry", "Time", "Event", "Who", "?From", "Status", "Details"]}>
          {entries.map((entry) => (
            <tr key={entry.entry}>
              <td class="num right opt">{entry.entry}</td>
              <td class="num nowrap" title={entry.time}>
                {moment(entry.time)}
              </td>
              <td>
                <span class={`pill ${kAlarming.includes(entry.event) ? "bad" : ""}`}>{kEvents[entry.event] ?? entry.event}</span>
              </td>
              <td>{entry.who === "anybody" ? "no token required" : entry.who ?? (which === "refusals" ? (entry.user ?? entry.key ?? <span class="muted">nobody known</span>) : "")}</td>
              <td class="opt">{entry.from ?? ""}</td>
              <td class="num">{entry.status ?? ""}</td>
              <td class="breaks">{detail(entry)}</td>
            </tr>
          ))}
        </List>
      )}
      {data && (
        <p class="muted">
          This page does not verify the chain of digests: <code>signalbox audit verify {which === "changes" ? data.file : refusalsFile(data.file)}*</code> does, in the folder of the log.
        </p>
      )}
    </>
  );
}
