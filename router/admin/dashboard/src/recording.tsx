// Switches the record of requests on and off in the configuration file, and keeps the file's comments.

import { useEffect, useState } from "preact/hooks";

import { Refused, call, json } from "./api";
import { type May, Notice, Snippet } from "./parts";
import { kRecordingYaml, withRecording } from "./yaml";

const kByHand = "Set global.services.router_replay.enabled on the page Configuration, or in the file.";

/// The file exactly as it is stored. A text without its comments, or with masked values, must not be written back.
async function original(): Promise<Response> {
  try {
    return await call("/config/router?format=original");
  } catch (caught) {
    if (!(caught instanceof Refused) || caught.status !== 403) throw caught;
    throw new Error("This button would lose the file's comments, because the file may contain secrets, which you may not see.");
  }
}

async function change(on: boolean): Promise<void> {
  const response = await original();
  const text = withRecording(await response.text(), on);
  if (text === null) throw new Error("The file is written in a way that this button does not change.");
  await call("/config/router?same_file=true", { method: "PUT", headers: { "If-Match": response.headers.get("etag") ?? "", "Content-Type": "application/yaml" }, body: text });
}

interface Settings {
  global?: { services?: { router_replay?: { enabled?: boolean } } };
  routing?: { decisions?: { name: string; plugins?: { type: string; configuration?: { enabled?: boolean } }[] }[] };
}

/// Decisions whose plugin router_replay applies instead of the global setting.
const ownOnes = (settings: Settings) =>
  (settings.routing?.decisions ?? []).filter((each) => each.plugins?.some((plugin) => plugin.type === "router_replay")).map((each) => each.name);

/// True if requests are recorded; null: not known.
export function useRecording(may: May) {
  const [on, setOn] = useState<boolean | null>(null);
  const [own, setOwn] = useState<string[]>([]);
  const [error, setError] = useState("");
  const read = async () => {
    if (!may("config.read")) return;
    try {
      const found = await json<Settings>("/config/router");
      setOwn(ownOnes(found));
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
      setError(`${(caught as Error).message.replace(/\.?$/, ".")} ${kByHand}`);
    }
    await read();
  };
  return { on, own, set, error };
}
type Recording = ReturnType<typeof useRecording>;

/// The global setting, and the decisions for which their own applies.
export const recordingWords = ({ on, own }: Recording) =>
  `recording is ${on ? "on, without texts unless a decision records them" : "off"}${own.length > 0 ? `; ${own.join(", ")} ${own.length === 1 ? "has its" : "have their"} own setting` : ""}`;

/// Why the setting could not be read or changed.
export function NotSwitched({ recording }: { recording: Recording }) {
  if (!recording.error) return null;
  return (
    <Notice kind="bad">
      {recording.error} <a href="#/configuration">Open the page Configuration</a>
    </Notice>
  );
}

export function NotRecorded({ recording, may }: { recording: Recording; may: May }) {
  if (recording.on === null) return <p class="card empty muted">No request has been recorded.</p>;
  return (
    <div class="card empty">
      <h2>{recording.on || recording.own.length > 0 ? "No request has been recorded yet" : "Requests are not recorded"}</h2>
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
    </div>
  );
}
