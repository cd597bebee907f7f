// An issuer of tokens: a server with discovery and a key set. Tests can change its keys and stop it.

import { constants, createHmac, generateKeyPairSync, sign } from "node:crypto";
import { createServer } from "node:http";

export const kAudience = "signalbox";

const kTypes = {
  RS256: ["rsa", { modulusLength: 2048 }],
  ES256: ["ec", { namedCurve: "P-256" }],
  ES384: ["ec", { namedCurve: "P-384" }],
  EdDSA: ["ed25519", {}],
};
const kPss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };

const encoded = (value) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

function signature(algorithm, text, key) {
  if (algorithm.toLowerCase() === "none") return "";
  const digest = `sha${algorithm.slice(2)}`;
  if (algorithm.startsWith("HS")) return createHmac(digest, key).update(text).digest("base64url");
  if (algorithm === "EdDSA") return sign(null, Buffer.from(text), key).toString("base64url");
  const how = { RS: {}, PS: kPss, ES: { dsaEncoding: "ieee-p1363" } }[algorithm.slice(0, 2)];
  return sign(digest, Buffer.from(text), { key, ...how }).toString("base64url");
}

/// Returns a token. Parts may be objects or texts.
export function tokenOf(header, claims, key) {
  const text = `${encoded(header)}.${encoded(claims)}`;
  return `${text}.${signature(header.alg, text, key)}`;
}

export class Issuer {
  keys = []; // {kid, type, publicKey, privateKey}
  fetches = 0; // of the key set
  headers = {};

  static async start() {
    const issuer = new Issuer();
    for (const type of Object.keys(kTypes)) issuer.add(type);
    await issuer.up();
    return issuer;
  }

  /// Makes a key and returns its id.
  add(type = "RS256") {
    const kid = `${type}-${this.keys.length + 1}`;
    this.keys.push({ kid, type, ...generateKeyPairSync(...kTypes[type]) });
    return kid;
  }

  get keySet() {
    return { keys: this.keys.map(({ kid, publicKey }) => ({ kid, use: "sig", ...publicKey.export({ format: "jwk" }) })) };
  }

  #answer(request, response) {
    const documents = {
      "/.well-known/openid-configuration": () => ({ issuer: this.url, jwks_uri: `${this.url}/keys?set=1` }),
      "/keys?set=1": () => {
        this.fetches += 1;
        return this.keySet;
      },
    };
    this.seen = request.headers;
    const body = documents[request.url]?.();
    response.writeHead(body ? 200 : 404, { "content-type": "application/json", ...this.headers });
    response.end(JSON.stringify(body ?? {}));
  }

  /// Begins to listen, at the same port as before.
  async up() {
    this.server = createServer((request, response) => this.#answer(request, response));
    await new Promise((done) => this.server.listen(this.port ?? 0, "127.0.0.1", done));
    this.port = this.server.address().port;
    this.url = `http://127.0.0.1:${this.port}`;
  }

  async down() {
    const closed = new Promise((done) => this.server.close(done));
    this.server.closeAllConnections();
    await closed;
  }

  claims(more = {}) {
    const now = Math.floor(Date.now() / 1000);
    return { iss: this.url, aud: kAudience, sub: "ann", iat: now, exp: now + 3600, ...more };
  }

  /// Returns a token with these claims beside the usual ones. `algorithm` may need another type of key than its own.
  token(more = {}, { algorithm = "RS256", kid, header = {}, secret } = {}) {
    const type = /^[RP]S/.test(algorithm) ? "RS256" : algorithm;
    const key = this.keys.findLast((each) => (kid ? each.kid === kid : each.type === type));
    return tokenOf({ typ: "JWT", alg: algorithm, kid: kid ?? key?.kid, ...header }, this.claims(more), secret ?? key?.privateKey);
  }
}
