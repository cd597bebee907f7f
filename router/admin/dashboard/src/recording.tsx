// Switches the record of requests on and off in the configuration file, and keeps the file's comments.

import { useEffect, useState } from "preact/hooks";

import { call, json } from "./api";
import { type May, Notice, Snippet } from "./parts";
import { kRecordingYaml, withRecording } from "./yaml";

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
