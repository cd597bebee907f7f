// The page of spending, budgets, and the keys and tokens by which the router knows its clients.

import { useState } from "preact/hooks";

import { type Budget, type Issuer, type Key, type Keyring, type Limit, type Spending, call, post } from "./api";
import { Empty, List, type May, Notice, Snippet, usePolled } from "./parts";
import { count, day, money, percent } from "./words";

const kBy = ["key", "user", "group", "model", "decision", "day"] as const;
const kLinesMax = 100;
const kSeldomMs = 60_000; // for sums over everything that was ever counted
type Period = "today" | "this month" | "ever";

const isoDay = (date: Date) => date.toISOString().slice(0, 10);
/// The first day of a period, in UTC, as the router counts.
const since = (period: Period) => (period === "today" ? isoDay(new Date()) : period === "this month" ? `${isoDay(new Date()).slice(0, 8)}01` : "");

const kThen = { warn: "a header warns", cheaper: "the cheapest model answers", refuse: "requests are refused" };
const kStates = { fine: ["ok", "within"], warned: ["warn", "almost spent"], exceeded: ["bad", "spent"] } as const;

function Share({ part, whole, mood }: { part: number; whole: number; mood: string }) {
  return (
    <svg class={`share ${mood}`} viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="100" height="10" rx="2" />
      <rect class="fill" width={Math.min(100, (100 * part) / whole)} height="10" rx="2" />
    </svg>
  );
}

function Budgets({ budgets }: { budgets: Budget[] }) {
  if (budgets.length === 0) {
    return (
      <Empty title="There is no budget" yaml={"global:\n  spending:\n    budgets:\n      - {name: each-key, by: key, amount: 5, per: day, then: warn}"}>
        A budget limits what a key, a user or a group may spend; add one in the <a href="#/configuration">configuration</a>.
      </Empty>
    );
  }
  return (
    <List label="Budgets" columns={["Budget", "Whose", "State", "#Spent", "#Amount", "When it is spent", "#Renewed"]}>
      {budgets.flatMap((budget) => {
        const rows = budget.spenders.length > 0 ? budget.spenders : [null];
        return rows.map((spender, i) => {
          const [mood, words] = kStates[spender?.state ?? "fine"];
          return (
            <tr>
              <th scope="row">
                {budget.name}
                {i === rows.length - 1 && budget.further > 0 && <span class="aside path">and {budget.further.toLocaleString("en")} further</span>}
              </th>
              <td>
                <span class="muted">{budget.by}</span> {spender ? spender.name : <span class="muted">each; none has spent anything</span>}
              </td>
              <td>
                <span class={`pill ${mood}`}>{words}</span>
              </td>
              <td class="num right">
                {money(spender?.spent ?? 0, budget.currency)}
                <span class="aside"> {percent(spender?.spent ?? 0, budget.amount)}</span>
                <Share part={spender?.spent ?? 0} whole={budget.amount} mood={mood} />
              </td>
              <td class="num right">
                {money(budget.amount, budget.currency)} <span class="aside">a {budget.per}</span>
              </td>
              <td>{kThen[budget.then]}</td>
              <td class="num right nowrap">{day(budget.renewed)}</td>
            </tr>
          );
        });
      })}
    </List>
  );
}

function Spent() {
  const [by, setBy] = useState<(typeof kBy)[number]>("key");
  const [period, setPeriod] = useState<Period>("this month");
  const { data, error, missing } = usePolled<Spending>(`/api/v1/spending?by=${by}${period === "ever" ? "" : `&since=${since(period)}`}`, period === "ever" ? kSeldomMs : 5000);
  // The largest spending comes first, and lines of one name stay together.
  const most = new Map<unknown, number>();
  for (const line of data?.lines ?? []) most.set(line[by], Math.max(most.get(line[by]) ?? 0, line.cost ?? 0));
  const lines = [...(data?.lines ?? [])].sort(
    (a, b) => most.get(b[by])! - most.get(a[by])! || String(a[by]).localeCompare(String(b[by])) || (b.cost ?? 0) - (a.cost ?? 0),
  );
  const shown = lines.slice(0, kLinesMax);
  if (missing) {
    return (
      <Empty title="Spending is not counted" yaml={"global:\n  spending: {}"}>
        Add <code>global.spending</code> to the <a href="#/configuration">configuration</a> and restart the router, which then counts requests,
        tokens and money by key, user, group, model and decision.
      </Empty>
    );
  }
  return (
    <>
      <div class="row wrap">
        <div class="row wrap" role="group" aria-label="By">
          {kBy.map((each) => (
            <button class="tab" aria-pressed={each === by} onClick={() => setBy(each)}>
              By {each}
            </button>
          ))}
        </div>
        <span class="grow" />
        <label class="row inline">
          Period
          <select value={period} onChange={(event) => setPeriod(event.currentTarget.value as Period)}>
            {["today", "this month", "ever"].map((each) => (
              <option>{each}</option>
            ))}
          </select>
        </label>
      </div>
      {error && <Notice kind="bad">{error}</Notice>}
      {data && lines.length === 0 && (
        <p class="card empty muted">Nothing was spent in this period. A request counts once a model or the cache has answered it.</p>
      )}
      {data?.by === by && lines.length > 0 && (
        <List label="Spending" columns={[by[0]!.toUpperCase() + by.slice(1), "#Requests", "#Tokens read", "#Tokens written", "#Cost", "#Saved"]}>
          {[...shown, ...data.totals].map((line, i) => {
            const total = i >= shown.length;
            return (
              <tr class={total ? "total" : ""}>
                <th scope="row">{total ? (line.currency ? `all in ${line.currency}` : "all without a price") : String(line[by] ?? "") || <span class="muted">{by === "decision" ? "no decision" : `no ${by}`}</span>}</th>
                <td class="num right">{line.requests.toLocaleString("en")}</td>
                <td class="num right">{line.prompt_tokens.toLocaleString("en")}</td>
                <td class="num right">{line.completion_tokens.toLocaleString("en")}</td>
                <td class="num right">{line.currency ? money(line.cost ?? 0, line.currency) : <span class="muted">no price</span>}</td>
                <td class="num right">{line.currency ? money(line.saved ?? 0, line.currency) : "–"}</td>
              </tr>
            );
          })}
        </List>
      )}
      {lines.length > shown.length && (
        <p class="muted">
          And {(lines.length - shown.length).toLocaleString("en")} further, which the sums contain; <code>signalbox report</code> lists all.
        </p>
      )}
      <p class="muted">A line without a price counts requests that a model without a price, or the cache, has answered. “Saved” is what the same tokens would have cost more on the most expensive model; answers from the cache save all of it.</p>
    </>
  );
}

const limitText = (limit: Limit) => {
  const unit = { 1: "second", 60: "minute", 3600: "hour", 86400: "day" }[limit.seconds] ?? `${limit.seconds} s`;
  return [limit.requests && count(limit.requests, "request"), limit.tokens && count(limit.tokens, "token")].filter(Boolean).join(", ") + ` a ${unit}`;
};
const names = (all: string[], none: string) => (all.length > 0 ? all.join(", ") : <span class="muted">{none}</span>);
const words = (value: FormDataEntryValue | null) => String(value ?? "").split(/[\s,]+/).filter(Boolean);

function AddKey({ done }: { done: () => Promise<void> }) {
  const [made, setMade] = useState<{ name: string; key: string } | null>(null);
  const [error, setError] = useState("");
  const add = async (form: HTMLFormElement) => {
    const fields = new FormData(form);
    const requests = Number(fields.get("requests"));
    const body = {
      name: String(fields.get("name")).trim(),
      ...(fields.get("user") ? { user: String(fields.get("user")).trim() } : {}),
      groups: words(fields.get("groups")),
      models: words(fields.get("models")),
      ...(fields.get("expires") ? { expires: String(fields.get("expires")) } : {}),
      ...(requests > 0 ? { limits: [{ requests_per_unit: requests, unit: "minute" }] } : {}),
    };
    try {
      setMade(await post<{ name: string; key: string }>("/api/v1/keys", body));
      setError("");
      form.reset();
      await done();
    } catch (caught) {
      setError((caught as Error).message);
    }
  };
  return (
    <details class="card adding">
      <summary>Add a key</summary>
      <form
        class="row wrap filters"
        aria-label="New key"
        onSubmit={(event) => {
          event.preventDefault();
          setMade(null);
          void add(event.currentTarget);
        }}
      >
        <label>
          Name
          <input name="name" required maxLength={128} autocomplete="off" />
        </label>
        <label>
          User (the name without one)
          <input name="user" autocomplete="off" />
        </label>
        <label>
          Groups
          <input name="groups" placeholder="research, tools" autocomplete="off" />
        </label>
        <label>
          Models (all without one)
          <input name="models" autocomplete="off" />
        </label>
        <label>
          Expires
          <input name="expires" type="date" />
        </label>
        <label>
          Requests a minute
          <input name="requests" type="number" min={1} />
        </label>
        <button class="primary">Add</button>
      </form>
      {error && <Notice kind="bad">{error}</Notice>}
      {made && (
        <div class="notice ok stack" role="status">
          <p>
            The key of <b>{made.name}</b> is shown this once, because the router keeps only its digest.
          </p>
          <Snippet label={`Key of ${made.name}`} text={made.key} />
        </div>
      )}
    </details>
  );
}

function KeyRow({ of, mayWrite, done }: { of: Key; mayWrite: boolean; done: () => Promise<void> }) {
  const [asking, setAsking] = useState(false);
  const [error, setError] = useState("");
  const expired = of.expires !== null && Date.parse(of.expires) <= Date.now();
  const revoke = async () => {
    try {
      await call(`/api/v1/keys/${encodeURIComponent(of.name)}`, { method: "DELETE" });
      await done();
    } catch (caught) {
      setError((caught as Error).message);
    }
    setAsking(false);
  };
  return (
    <tr>
      <th scope="row">{of.name}</th>
      <td>{of.user}</td>
      <td>{names(of.groups, "none")}</td>
      <td>{names([...of.models, ...of.recipes.map((each) => `recipe ${each}`)], "all")}</td>
      <td>{names(of.limits.map(limitText), "none")}</td>
      <td class="nowrap" title={of.expires ?? ""}>
        {expired ? <span class="pill bad">expired</span> : of.expires === null ? <span class="muted">never</span> : day(of.expires)}
      </td>
      <td class="right">
        {of.from === "configuration" ? (
          <span class="muted">in the configuration</span>
        ) : !mayWrite ? null : asking ? (
          <span class="row end" role="group" aria-label={`Revoke ${of.name}`}>
            <button onClick={() => setAsking(false)}>Keep</button>
            <button class="danger" autofocus onClick={() => void revoke()}>
              Revoke now
            </button>
          </span>
        ) : (
          <button aria-label={`Revoke ${of.name}…`} onClick={() => setAsking(true)}>
            Revoke…
          </button>
        )}
        {error && <Notice kind="bad">{error}</Notice>}
      </td>
    </tr>
  );
}

function Issuers({ issuers }: { issuers: Issuer[] }) {
  return (
    <List label="Issuers of tokens" columns={["Issuer", "Address", "Keys of its signatures", "Users and groups", "Rights of a token"]}>
      {issuers.map((each) => (
        <tr>
          <th scope="row">
            {each.name}
            <span class="aside path">for {each.audiences.join(", ")}</span>
          </th>
          <td class="breaks">{each.issuer}</td>
          <td>
            <span class={`pill ${each.has_keys ? "ok" : "bad"}`}>{each.has_keys ? "known" : "not available: tokens get 503"}</span>
            {each.trouble && <span class="aside path">{each.trouble}</span>}
          </td>
          <td>{each.prefix ? `begin with ${each.prefix}` : <span class="muted">as in the token</span>}</td>
          <td>
            {each.groups.length === 0 ? (
              <span class="muted">every token may do everything</span>
            ) : (
              <ul>
                {each.groups.map((group) => (
                  <li>
                    <b>{group.name === "*" ? "everybody" : group.name}</b>:{" "}
                    {[...group.models, ...group.recipes.map((one) => `recipe ${one}`)].join(", ") || "everything"}
                    {group.limits.length > 0 && <span class="muted">, {group.limits.map(limitText).join("; ")}</span>}
                  </li>
                ))}
              </ul>
            )}
          </td>
        </tr>
      ))}
    </List>
  );
}

const kKeysFile = "global:\n  access: {keys_file: keys.json}";

function Clients({ mayWrite }: { mayWrite: boolean }) {
  const { data, error, read } = usePolled<Keyring>("/api/v1/keys", 5000);
  if (!data) return error ? <Notice kind="bad">{error}</Notice> : <p class="muted">Reading…</p>;
  const nobody = data.keys.length === 0 && data.issuers.length === 0;
  return (
    <>
      {error && <Notice kind="bad">{error}</Notice>}
      {data.store && !data.store.works && (
        <Notice kind="bad">
          The store of the keys cannot be used, so no key can be added or revoked: {data.store.trouble ?? data.store.name}. The keys that were read last
          go on working for a limited time.
        </Notice>
      )}
      {!data.required && (
        <Empty title="Requests need no key" yaml={kKeysFile}>
          Whoever reaches a listener may use it; with a file of keys in the <a href="#/configuration">configuration</a>, every request needs one.
        </Empty>
      )}
      {data.has_file && mayWrite && <AddKey done={read} />}
      {data.required && nobody && data.store?.works !== false && <p class="card empty muted">No key exists, so every request is refused. Add one above.</p>}
      {data.keys.length > 0 && (
        <List label="Keys" columns={["Key", "User", "Groups", "May use", "Limits", "Expires", "#"]}>
          {data.keys.map((each) => (
            <KeyRow key={each.name} of={each} mayWrite={mayWrite} done={read} />
          ))}
        </List>
      )}
      {data.required && !data.has_file && mayWrite && (
        <p class="muted">
          Keys can be added here once the configuration names a file or a store for them: <code>global.access.keys_file</code> or <code>keys_store</code>.
        </p>
      )}
      {data.issuers.length > 0 && (
        <>
          <h2>Tokens of identity providers</h2>
          <Issuers issuers={data.issuers} />
        </>
      )}
    </>
  );
}

export function Keys({ may }: { may: May }) {
  const budgets = usePolled<{ budgets: Budget[] }>("/api/v1/budgets", 5000);
  return (
    <>
      <h1>Keys and budgets</h1>
      {budgets.error && <Notice kind="bad">{budgets.error}</Notice>}
      <h2>Spending</h2>
      <Spent />
      {budgets.data && !budgets.missing && (
        <>
          <h2>Budgets</h2>
          <Budgets budgets={budgets.data.budgets} />
        </>
      )}
      <h2>Keys</h2>
      {may("keys.read") ? (
        <Clients mayWrite={may("keys.write")} />
      ) : (
        <Notice>
          Your role does not have the permission <code>keys.read</code>, which the list of keys needs.
        </Notice>
      )}
    </>
  );
}
