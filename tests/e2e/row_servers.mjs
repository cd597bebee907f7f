// Test doubles of Milvus and of Qdrant. They follow the documentation of the REST interfaces and were not compared with
// real servers. Each holds the rows of one collection. It can refuse requests, give false replies, and come back with
// older data.

import { ScriptedUpstream } from "./upstream.mjs";

const compares = { "==": (a, b) => a === b, ">": (a, b) => a > b, "<": (a, b) => a < b, in: (a, b) => b.includes(a) };

/// `mood` is "well", "refuses", "forgets" (it confirms writes but does not make them) or "mixes up" (it applies no
/// filter).
class RowServer {
  static async start() {
    const double = new this();
    Object.assign(double, { rows: new Map(), collection: undefined, mood: "well", secret: undefined });
    double.server = await ScriptedUpstream.start();
    double.port = double.server.port;
    double.server.answer = (body) => double.answer(double.server, body);
    return double;
  }

  write(id, row) {
    if (this.mood !== "forgets") this.rows.set(id, row);
  }
  remove(id) {
    if (this.mood !== "forgets") this.rows.delete(id);
  }
  /// The rows as JSON, so that a test can check which texts the server has.
  get text() {
    return JSON.stringify([...this.rows.values()]);
  }
  save() {
    return new Map(this.rows);
  }
  /// Stops the server. The next one has the same port and rows.
  stop() {
    return this.server.stop();
  }
  async startAgain() {
    this.server = await ScriptedUpstream.start(this.port);
    this.server.answer = (body) => this.answer(this.server, body);
  }
}

export class MilvusDouble extends RowServer {
  store() {
    return `backend: milvus, milvus: {address: "127.0.0.1:${this.port}", username: root, password: secret, collection: turns, consistency_level: Strong}`;
  }

  answer({ path, headers }, body) {
    const reply = (data) => ({ body: { code: 0, data } });
    const error = (code, message) => ({ body: { code, message } });
    if (headers.authorization !== "Bearer root:secret") return { status: 401, ...error(1800, "not authenticated") };
    if (this.mood === "refuses") return error(9, "quota exceeded");
    const has = this.collection !== undefined && body.collectionName === "turns";
    const call = path.replace("/v2/vectordb", "");
    if (call === "/collections/has") return reply({ has });
    if (call === "/collections/create") return (this.collection = body), reply({});
    if (!has) return error(100, "can't find collection");
    const chosen = () => {
      const conditions = body.filter.split(" and ").map((each) => /^(\w+) (==|>|<|in) (.*)$/.exec(each).slice(1));
      return (row) => this.mood === "mixes up" || conditions.every(([field, relation, value]) => compares[relation](row[field], JSON.parse(value)));
    };
    if (call === "/collections/describe") return reply(this.#described());
    if (call === "/collections/load") return reply({});
    if (call === "/entities/upsert") {
      for (const row of body.data) this.write(row.id, row);
      return reply({ upsertCount: body.data.length });
    }
    const found = [...this.rows.values()].filter(chosen());
    if (call === "/entities/delete") return found.forEach(({ id }) => this.remove(id)), reply({});
    if (call !== "/entities/query" || body.consistencyLevel !== "Strong") return error(404, "page not found");
    return reply(found.slice(0, body.limit).map((row) => Object.fromEntries(body.outputFields.map((field) => [field, row[field]]))));
  }

  #described() {
    const { schema, params, indexParams } = this.collection;
    const fields = schema.fields.map(({ fieldName, dataType, isPrimary, elementTypeParams = {} }) => ({
      name: fieldName,
      type: dataType,
      primaryKey: isPrimary === true,
      params: Object.entries(elementTypeParams).map(([key, value]) => ({ key, value })),
    }));
    return { fields, consistencyLevel: params.consistencyLevel, indexes: indexParams, load: "LoadStateLoaded" };
  }
}

export class QdrantDouble extends RowServer {
  store() {
    return `backend: qdrant, qdrant: {host: 127.0.0.1, port: ${this.port}, api_key: secret, collection: turns}`;
  }

  answer({ path, method, headers }, body) {
    const reply = (result) => ({ body: { result, status: "ok", time: 0 } });
    const error = (status, message) => ({ status, body: { status: { error: message }, time: 0 } });
    if (headers["api-key"] !== "secret") return { status: 401, body: "Must provide an API key" };
    if (this.mood === "refuses") return error(507, "no space left on device");
    const call = `${method} ${path.replace("/collections/turns", "").replace(/\?.*/, "")}`;
    if (call === "PUT ") return (this.collection = body.vectors), reply(true);
    if (this.collection === undefined) return error(404, "Collection `turns` doesn't exist!");
    if (call === "GET ") return reply({ config: { params: { vectors: this.collection } } });
    const completed = reply({ operation_id: 1, status: "completed" });
    if (call === "PUT /index") return completed;
    if (call === "PUT /points") {
      for (const point of body.points) this.write(point.id, point);
      return completed;
    }
    if (call === "POST /points/delete") return body.points.forEach((id) => this.remove(id)), completed;
    if (call !== "POST /points/scroll") return error(404, "Not found");
    const holds = ({ has_id: ids, key, match, range = {} }, { id, payload }) =>
      ids ? ids.includes(id) : match ? payload[key] === match.value : !(payload[key] <= range.gt) && !(payload[key] >= range.lt);
    const points = [...this.rows.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).filter((point) => point.id >= (body.offset ?? ""));
    const found = points.filter((point) => this.mood === "mixes up" || body.filter.must.every((each) => holds(each, point)));
    const page = found.slice(0, Math.min(body.limit, 3)); // small pages
    const shown = ({ id, payload, vector }) => ({
      id,
      payload: Object.fromEntries(body.with_payload.map((field) => [field, payload[field]])),
      ...(body.with_vector ? { vector } : {}),
    });
    return reply({ points: page.map(shown), next_page_offset: found[page.length]?.id ?? null });
  }
}
