// Switches the record of requests on and off in the configuration file, and keeps the file's comments.

import { useEffect, useState } from "preact/hooks";

import { call, json } from "./api";
import { type May, Notice, Snippet } from "./parts";

export const kRecordingYaml = "global:\n  services:\n    router_replay: {enabled: true}";

/// The line of a mapping's key without a value: "  services:" and perhaps a comment.
const opens = (line: string, key: string, indent: string) => new RegExp(`^${indent}${key}:\\s*(#.*)?$`).test(line);
const indentOf = (line: string) => /^ */.exec(line)![0];
const isBlank = (line: string) => /^\s*(#.*)?$/.test(line);

/// The number of the first line behind the block that a line opens.
function endOf(lines: string[], opener: number): number {
  const indent = indentOf(lines[opener]!).length;
  let end = opener + 1;
  while (end < lines.length && (isBlank(lines[end]!) || indentOf(lines[end]!).length > indent)) ++end;
  return end;
}

/// The file with the record switched on or off; null if it is written in a way that this cannot change.
export function withRecording(text: string, on: boolean): string | null {
  const lines = text.split("\n");
  const at = lines.findIndex((line) => /^global:/.test(line));
  if (at < 0) return `${text.replace(/\n*$/, "\n")}${kRecordingYaml.replace("true", String(on))}\n`;
  if (!opens(lines[at]!, "global", "")) return null;
  const globalEnd = endOf(lines, at);
  const child = lines.slice(at + 1, globalEnd).find((line) => !isBlank(line));
  const indent = child ? indentOf(child) : "  ";
  const services = lines.findIndex((line, i) => i > at && i < globalEnd && line.startsWith(`${indent}services:`));
  if (services < 0) {
    lines.splice(at + 1, 0, `${indent}services:`, `${indent}  router_replay: {enabled: ${on}}`);
    return lines.join("\n");
  }
  if (!opens(lines[services]!, "services", indent)) return null;
  const servicesEnd = endOf(lines, services);
  const service = lines.slice(services + 1, servicesEnd).find((line) => !isBlank(line));
  const deeper = service ? indentOf(service) : `${indent}  `;
  const replay = lines.findIndex((line, i) => i > services && i < servicesEnd && line.startsWith(`${deeper}router_replay:`));
  if (replay < 0) {
    lines.splice(services + 1, 0, `${deeper}router_replay: {enabled: ${on}}`);
    return lines.join("\n");
  }
  for (let i = replay; i < endOf(lines, replay); ++i) {
    const changed = lines[i]!.replace(/(^|[\s{,])enabled:\s*(true|false)/, `$1enabled: ${on}`);
    if (changed === lines[i] && !/enabled:/.test(lines[i]!)) continue;
    lines[i] = changed;
    return lines.join("\n");
  }
  return null;
}

async function change(on: boolean): Promise<void> {
  const response = await call("/config/router?format=file");
  const text = withRecording(await response.text(), on);
  if (text === null) throw new Error("the configuration is written in a way that this page does not change; set router_replay.enabled on the page Configuration");
  await call("/config/router", { method: "PUT", headers: { "If-Match": response.headers.get("etag") ?? "", "Content-Type": "application/yaml" }, body: text });
}

/// Whether requests are recorded; null: not known.
export function useRecording(may: May) {
  const [on, setOn] = useState<boolean | null>(null);
  const [error, setError] = useState("");
  const read = async () => {
    if (!may("config.read")) return;
    try {
      const found = await json<{ global?: { services?: { router_replay?: { enabled?: boolean } } } }>("/config/router");
      setOn(found.global?.services?.router_replay?.enabled === true);
    } catch (caught) {
      setError((caught as Error).message);
    }
  };
  useEffect(() => void read(), []);
  const set = async (wanted: boolean) => {
    try {
      await change(wanted);
      setError("");
    } catch (caught) {
      setError((caught as Error).message);
    }
    await read();
  };
  return { on, set, error };
}

export function NotRecorded({ recording, may }: { recording: ReturnType<typeof useRecording>; may: May }) {
  return (
    <div class="card empty">
      <h2>{recording.on ? "No request has been recorded yet" : "Requests are not recorded"}</h2>
      <p>
        {recording.on
          ? "Send a request to the router's listener, and it appears here."
          : "The record keeps the last requests in memory: their decision, model, status, client, tokens and times, and no texts."}
      </p>
      {recording.on === false && may("config.write") && (
        <button class="primary" onClick={() => void recording.set(true)}>
          Switch recording on
        </button>
      )}
      {!recording.on && (
        <>
          <p class="muted">In the configuration, this is:</p>
          <Snippet label="Configuration to add" text={kRecordingYaml} />
        </>
      )}
      {recording.error && <Notice kind="bad">{recording.error}</Notice>}
    </div>
  );
}
