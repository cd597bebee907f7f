// Types of the management API, and the only functions that call it.

export interface Access {
  version: string;
  asks_for_token: boolean;
  changes_need_token: boolean;
  token_file?: string;
  no_token?: string; // why nobody has the token
  permissions: string[];
}

export interface Leaf {
  type: string;
  name: string;
  matched: boolean | null;
  confidence?: number;
  why?: string;
}
export interface Branch {
  operator: "AND" | "OR" | "NOT";
  matched: boolean | null;
  confidence?: number;
  conditions: RuleNode[];
}
export type RuleNode = Leaf | Branch;

export interface Signal {
  matched: boolean | null;
  confidence?: number;
  score?: number;
  threshold?: number;
  similarity?: number; // of the nearest example, if a match needs this in addition to the score
  least_similarity?: number;
  why?: string;
  evidence?: string[];
}
export interface Traced {
  decision: string;
  priority: number;
  tier?: number;
  selected: boolean;
  matched: boolean | null;
  confidence?: number;
  rules: RuleNode;
}
export interface Personal {
  type: string;
  start: number;
  end: number;
  score: number;
  source: string;
}
export interface Explained {
  request: string;
  text: string;
  decision: {
    name: string;
    description: string;
    priority: number;
    tier?: number;
    algorithm: string;
    models: string[];
    plugins: string[];
  } | null;
  plan: {
    path: "upstream" | "fast_response" | "blocked" | "error";
    recipe?: string;
    confidence?: number;
    bypassed?: boolean;
    model?: string;
    asked_for?: string;
    message?: string;
    method?: string;
    reason?: string;
    left_out?: { model: string; reason: string }[];
    reasoning?: boolean;
    headers?: Record<string, string>;
    body?: string;
  };
  rests_on_missing: boolean;
  degraded?: string;
  signals: Record<string, Record<string, Signal>>;
  trace: Traced[];
  cost: {
    ms: number;
    rules_ms: number;
    signals: Record<string, { ms: number; failed: boolean }>;
    passes: { model: string; ms: number }[];
  };
  personal_failed?: string; // why the model for personal data did not run
  personal: Personal[];
}

export interface Step {
  at: number;
  requests?: number;
  failed?: number;
  blocked?: number;
  mistakes?: number;
  prompt_tokens?: number;
  completion_tokens?: number;
  saved_tokens?: number;
  cost?: Record<string, number>; // by currency
  cost_on_default?: Record<string, number>;
  not_compared?: Record<string, number>; // costs of one side only, so that savings are not known
  errors?: Record<string, number>; // by reason
  denied?: Record<string, number>;
  models?: Record<string, number>;
  decisions?: Record<string, number>;
  cache?: Record<string, number>;
  routing?: number[];
  upstream?: number[];
  ttft?: number[];
}
export interface Traffic {
  step: number;
  began: number;
  in_flight: number;
  next: number;
  bounds: { routing: number[]; upstream: number[]; ttft: number[] };
  steps: Step[];
}

export interface Record_ {
  id: string;
  timestamp?: string;
  request_id: string;
  path: string;
  status: number;
  response_path: string;
  stream: boolean;
  recipe?: string;
  decision?: string;
  confidence?: number;
  category?: string;
  algorithm?: string;
  selected_model?: string;
  cache?: string;
  degraded?: string;
  jailbreak?: string;
  pii_types?: string[];
  error?: string;
  total_ms?: number;
  routing_ms?: number;
  upstream_ms?: number;
  ttft_ms?: number;
  prompt_tokens?: number;
  completion_tokens?: number;
  cost?: number;
  hallucination?: string;
  signals?: Record<string, string[]>;
  request_body?: string;
  response_body?: string;
  shadows?: {
    model: string;
    outcome: string;
    ms: number;
    similarity?: number;
    prompt_tokens?: number;
    completion_tokens?: number;
    response?: string;
  }[];
  key?: string;
  user?: string;
  currency?: string;
  [more: string]: unknown;
}

export interface Model {
  name: string;
  type: string;
  loaded: boolean;
  model_path: string;
  categories?: string[];
  metadata?: Record<string, string>;
  trunk?: string;
  weights_bytes?: number; // size of the files
  memory_bytes?: number; // size of the loaded weights in memory
  same_as?: string; // name of another entry with the same model in memory
  latency?: { passes: number; mean_ms: number; p50_ms: number; p95_ms: number };
}

export interface Server {
  name: string;
  fit: boolean;
  healthy: boolean;
  ejected: boolean;
  weight: number;
  in_flight: number;
  others: number;
  waiting: number;
  cache_usage: number;
  answered: number;
  failed: number;
  ejections: number;
}
export interface Fleet {
  models: { model: string; queued: number; max_in_flight?: number; servers: Server[] }[];
}

export interface Spending {
  by: string;
  lines: SpendingLine[];
  totals: SpendingLine[];
  shadows: ShadowLine[];
}
export interface SpendingLine {
  [by: string]: unknown;
  requests: number;
  prompt_tokens: number;
  completion_tokens: number;
  currency?: string;
  cost?: number;
  saved?: number;
}
export interface ShadowLine {
  decision: string;
  model: string;
  shadow: string;
  pairs: number;
  failed: number;
  compared: number;
  agreed_share?: number;
  contradicted_share?: number;
  similarity?: number;
  seconds?: number;
  shadow_seconds?: number;
  currency?: string;
  cost?: number;
  shadow_currency?: string;
  shadow_cost?: number;
  saved?: number;
}
export interface Budget {
  name: string;
  by: "key" | "user" | "group";
  of?: string;
  amount: number;
  currency: string;
  per: "day" | "month";
  then: "warn" | "cheaper" | "refuse";
  warn_at: number;
  renewed: string;
  spenders: { name: string; spent: number; state: "fine" | "warned" | "exceeded" }[];
  further: number;
}
export interface Limit {
  requests?: number;
  tokens?: number;
  seconds: number;
}
export interface Key {
  name: string;
  user: string;
  groups: string[];
  models: string[];
  recipes: string[];
  limits: Limit[];
  expires: string | null;
  from: "file" | "store" | "configuration";
}
export interface Issuer {
  name: string;
  issuer: string;
  audiences: string[];
  prefix?: string;
  groups: { name: string; models: string[]; recipes: string[]; limits: Limit[] }[];
  has_keys: boolean;
  trouble?: string;
}
export interface Keyring {
  required: boolean;
  has_file: boolean;
  store?: { name: string; works: boolean; trouble?: string };
  keys: Key[];
  issuers: Issuer[];
}
export interface AuditEntry {
  entry: number;
  time: string;
  event: string;
  [more: string]: string | number | undefined;
}
export interface AuditLog {
  file: string;
  changes: AuditEntry[];
  refusals: AuditEntry[];
}

/// An error that the API returned.
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const kTokenKey = "signalbox.token";
export const token = {
  get: () => sessionStorage.getItem(kTokenKey) ?? "",
  set: (value: string) => (value ? sessionStorage.setItem(kTokenKey, value) : sessionStorage.removeItem(kTokenKey)),
  /// Takes the token from an address such as `/#token=...`, which `signalbox serve` prints, and removes it from the address.
  takeFromAddress: () => {
    const found = /^#token=(.+)$/.exec(location.hash)?.[1];
    if (!found) return;
    token.set(found);
    history.replaceState(null, "", location.pathname);
  },
};

export async function call(path: string, options: RequestInit = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  if (token.get()) headers.set("Authorization", `Bearer ${token.get()}`);
  let response: Response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new Refused(0, "the router does not answer");
  }
  if (response.ok) return response;
  const text = await response.text();
  let message = text || response.statusText;
  try {
    const said = JSON.parse(text).error;
    message = said?.message ?? said ?? message;
  } catch {
    // Not JSON: keep the text.
  }
  throw new Refused(response.status, message);
}

export const json = async <T>(path: string, options?: RequestInit): Promise<T> => (await call(path, options)).json();

export const post = <T>(path: string, body: unknown, options: RequestInit = {}): Promise<T> =>
  json<T>(path, {
    ...options,
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
