// The servers of each model: which get requests, what they do now, and how often they have failed.

import type { Fleet, Server } from "./api";
import { Empty, List, Notice, usePolled } from "./parts";
import { count, percent } from "./words";

function State({ server }: { server: Server }) {
  if (server.weight === 0) return <span class="pill">weight 0: gets no requests</span>;
  if (server.ejected) return <span class="pill bad">ejected after failures</span>;
  if (!server.healthy) return <span class="pill bad">fails its checks</span>;
  return <span class="pill ok">gets requests</span>;
}

export function Servers() {
  const { data, error } = usePolled<Fleet>("/api/v1/servers", 2000);
  // Servers whose metrics nobody reads report no load.
  const loads = data?.models.some((each) => each.servers.some((server) => server.others > 0 || server.waiting > 0 || server.cache_usage > 0)) ?? false;
  const columns = ["Model and server", "State", "#In flight", ...(loads ? ["#Others' requests", "#Its queue", "#Its cache"] : []), "#Answered", "#Failed", "#Ejections"];
  return (
    <>
      <h1>Servers</h1>
      <p class="muted">
        Each model's servers, and their calls since they were configured or the router started.
      </p>
      {error && <Notice kind="bad">{error}</Notice>}
      {!data && !error && <p class="muted">Reading…</p>}
      {data?.models.length === 0 && (
        <Empty
          title="No model has a server"
          yaml={'providers:\n  defaults: {default_model: small}\n  models:\n    - name: small\n      backend_refs: [{endpoint: "localhost:8000"}]'}
        >
          The servers of a model appear here once the <a href="#/configuration">configuration</a> lists them under{" "}
          <code>providers.models</code>.
        </Empty>
      )}
      {data && data.models.length > 0 && (
        <List label="Servers" columns={columns}>
          {data.models.map(({ model, queued, max_in_flight, servers }) => (
            <>
              <tr class="group">
                <th scope="rowgroup" colSpan={columns.length}>
                  {model}
                  <span class="aside">
                    {" "}
                    {count(servers.length, "server")}, {servers.filter((each) => each.fit && each.weight > 0).length} fit
                    {queued > 0 && `, ${count(queued, "request")} waiting for one`}
                  </span>
                </th>
              </tr>
              {servers.map((server) => (
                <tr>
                  <th scope="row" class="inner">
                    {server.name}
                  </th>
                  <td>
                    <State server={server} />
                  </td>
                  <td class="num right">
                    {server.in_flight.toLocaleString("en")}
                    {max_in_flight !== undefined && <span class="muted"> of {max_in_flight.toLocaleString("en")}</span>}
                  </td>
                  {loads && (
                    <>
                      <td class="num right">{server.others.toLocaleString("en")}</td>
                      <td class="num right">{server.waiting.toLocaleString("en")}</td>
                      <td class="num right">{percent(server.cache_usage, 1)}</td>
                    </>
                  )}
                  <td class="num right">{server.answered.toLocaleString("en")}</td>
                  <td class={`num right ${server.failed > 0 ? "bad-text" : ""}`}>
                    {server.failed.toLocaleString("en")}
                    {server.failed > 0 && <span class="aside"> {percent(server.failed, server.answered + server.failed)}</span>}
                  </td>
                  <td class={`num right ${server.ejections > 0 ? "bad-text" : ""}`}>{server.ejections.toLocaleString("en")}</td>
                </tr>
              ))}
            </>
          ))}
        </List>
      )}
    </>
  );
}
