// The router's own models: which are configured and loaded, and how fast they are on this machine.

import { useState } from "preact/hooks";

import { type Model, json } from "./api";
import { List, Notice, useEvery } from "./parts";
import { bytes, count, ms } from "./words";

interface Info {
  models: Model[];
  system: { version: string; architecture: string; memory_usage: string; tier?: string; dtype?: string };
}

/// The labels of a head. Those of tokens are the types that they mark: "B-AGE" and "I-AGE" are one, and "O" is none.
const labelsOf = (model: Model) =>
  model.type !== "pii"
    ? (model.categories ?? [])
    : [...new Set((model.categories ?? []).map((each) => each.replace(/^[BIES]-/, "")))].filter((each) => each !== "O");

export function Models() {
  const [info, setInfo] = useState<Info | null>(null);
  const [error, setError] = useState("");
  useEvery(5000, async () => {
    try {
      setInfo(await json<Info>("/info/models"));
      setError("");
    } catch (caught) {
      setError((caught as Error).message);
    }
  });
  const system = info?.system;
  return (
    <>
      <h1>Models of the router</h1>
      <p class="muted">The router's own models, which understand requests, and the labels that each head knows. A model is loaded if a decision needs it and its files are there.</p>
      {error && <Notice kind="bad">{error}</Notice>}
      {system && (
        <dl class="tiles few">
          {(
            [
              ["Kernels", system.tier ?? "–", "the tier that runs on this processor"],
              ["Precision", system.dtype ?? "–", "of weights that no file stores packed"],
              ["Memory", system.memory_usage, "of the process, resident"],
            ] as const
          ).map(([name, value, more]) => (
            <div class="card">
              <dt>{name}</dt>
              <dd>
                {value}
                <small class="muted">{more}</small>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {info && info.models.length === 0 && <p class="card empty muted">The configuration names no model; signals by models need one under global.model_catalog.</p>}
      {info && info.models.length > 0 && (
        <List label="Models" columns={["Model", "State", "Shape", "#Files", "#Memory", "#Passes", "#p50", "#p95"]}>
              {info.models.map((model) => {
                const labels = labelsOf(model);
                const timed = model.latency && model.latency.passes > 0 ? model.latency : null;
                return (
                  <tr>
                    <th scope="row">
                      {model.name.replaceAll("_", " ")}
                      <span class="aside path">{model.model_path || "not configured"}</span>
                      {model.trunk && model.trunk !== model.model_path && <span class="aside path">on {model.trunk}</span>}
                      {labels.length > 0 && (
                        <details>
                          <summary>{count(labels.length, "label")}</summary>
                          <span class="muted">{labels.join(", ")}</span>
                        </details>
                      )}
                    </th>
                    <td>
                      <span class={`pill ${model.loaded ? "ok" : ""}`}>{model.loaded ? "loaded" : "not loaded"}</span>
                    </td>
                    <td class="num">
                      {model.metadata
                        ? `${model.metadata.layers} × ${model.metadata.hidden}, ${Number(model.metadata.tokens_max).toLocaleString("en")} tokens`
                        : ""}
                    </td>
                    <td class="num right">{model.weights_bytes ? bytes(model.weights_bytes) : ""}</td>
                    <td class="num right">
                      {model.same_as ? (
                        <span class="muted">with {model.same_as.replaceAll("_", " ")}</span>
                      ) : model.memory_bytes ? (
                        bytes(model.memory_bytes)
                      ) : (
                        ""
                      )}
                    </td>
                    <td class="num right">{timed ? timed.passes.toLocaleString("en") : ""}</td>
                    <td class="num right">{timed ? ms(timed.p50_ms) : ""}</td>
                    <td class="num right">{timed ? ms(timed.p95_ms) : ""}</td>
                  </tr>
                );
              })}
        </List>
      )}
    </>
  );
}
