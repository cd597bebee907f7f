// Writes keys.json and cases.jsonl, the tokens with their expected results, beside this file. The private keys are thrown away, so
// run it only to change the cases: node tests/router/tokens/cases.mjs

import { writeFileSync } from "node:fs";

import { Issuer, tokenOf } from "../../e2e/issuer.mjs";

const kNow = 1_800_000_000;
const issuer = new Issuer();
for (const type of ["RS256", "ES256", "ES384", "EdDSA"]) issuer.add(type);
issuer.url = "https://issuer.example";
issuer.claims = (more) => ({ iss: issuer.url, aud: "signalbox", sub: "ann", iat: kNow, exp: kNow + 3600, ...more });
const published = issuer.keySet;
published.keys.push({ kty: "oct", kid: "secret", k: "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ" });

const rows = [];
const row = (name, token, expected) => rows.push({ name, token, now: kNow, ...expected });
const roles = (...names) => ({ realm: { roles: names } });

for (const algorithm of ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"])
  row(algorithm, issuer.token(roles("ops"), { algorithm }), { user: "ann", groups: "ops" });

row("groups of a list, the first row decides", issuer.token(roles("dev", "interns", "ops")), { user: "ann", groups: "dev,interns,ops", models: "small" });
row("a group that is a text", issuer.token({ realm: { roles: "ops" } }), { user: "ann", groups: "ops" });
row("a claim whose name has dots", issuer.token({ "realm.roles": ["ops"] }), { user: "ann", groups: "ops" });
row("one of two audiences", issuer.token({ aud: ["elsewhere", "other"], ...roles("ops") }), { user: "ann", groups: "ops" });
row("a second before its end", issuer.token({ exp: kNow - 59, ...roles("ops") }), { user: "ann", groups: "ops" });
row("a time with a fraction", issuer.token({ exp: kNow + 0.5, ...roles("ops") }), { user: "ann", groups: "ops" });
row("without kid, the only key of its type", issuer.token(roles("ops"), { algorithm: "EdDSA", header: { kid: undefined } }), { user: "ann", groups: "ops" });
row("typ in full", issuer.token(roles("ops"), { header: { typ: "application/AT+JWT" } }), { user: "ann", groups: "ops" });

const refused = (name, token, reason, message, status = 401) => row(name, token, { status, reason, message });
refused("no group", issuer.token(), "group_not_allowed", "has none of the groups", 403);
refused("a foreign group", issuer.token(roles("dev")), "group_not_allowed", "has none of the groups", 403);
refused("expired", issuer.token({ exp: kNow - 60 }), "expired_token", "the token expired 60 seconds ago");
refused("expired long ago", issuer.token({ exp: 0 }), "expired_token", "the token expired 20833 days ago");
refused("no exp", issuer.token({ exp: undefined }), "invalid_token", "no exp");
refused("an endless time", issuer.token({ exp: 1e300 }), "invalid_token", "exp is not a time");
refused("not yet", issuer.token({ nbf: kNow + 61 }), "early_token", "valid only in 61 seconds (nbf)");
refused("from the future", issuer.token({ iat: kNow + 7200 }), "early_token", "from the future, in 2 hours (iat)");
refused("another audience", issuer.token({ aud: "elsewhere" }), "wrong_audience", 'audience "elsewhere" is not one of signalbox, other');
refused("other audiences", issuer.token({ aud: ["a", "b"] }), "wrong_audience", 'audience "a" and others is not');
refused("an audience in another case", issuer.token({ aud: "SIGNALBOX" }), "wrong_audience", "audience");
refused("no audience", issuer.token({ aud: [] }), "wrong_audience", "audience none");
refused("another issuer", issuer.token({ iss: "https://issuer.example/" }), "unknown_issuer", "issuer");
refused("no issuer", issuer.token({ iss: undefined }), "unknown_issuer", "issuer");
refused("an unknown key", issuer.token({}, { header: { kid: "RS256-9" } }), "keys_unavailable", "are not available; try", 503);
refused("a key of another type", issuer.token({}, { header: { kid: "ES256-2" } }), "unknown_signing_key", 'key "ES256-2" is not one of the issuer "login" for RS256');
refused("the published secret", issuer.token({}, { algorithm: "HS256", secret: "x", kid: "secret" }), "invalid_token", '"HS256" is not accepted');
refused("none", issuer.token({}, { algorithm: "none" }), "invalid_token", '"none" is not accepted');
refused("no algorithm", tokenOf({ alg: "none" }, issuer.claims()).replace(/^[^.]*/, "e30"), "invalid_token", '"" is not accepted');
refused("crit", issuer.token({}, { header: { crit: ["exp"] } }), "invalid_token", "crit");
refused("typ", issuer.token({}, { header: { typ: "dpop+jwt" } }), "invalid_token", "typ: expected JWT");
refused("a user with a comma", issuer.token({ sub: "a,b" }), "invalid_token", "sub is not a name");
refused("a user with a line break", issuer.token({ sub: "a\nb" }), "invalid_token", "sub is not a name");
refused("a user with spaces around", issuer.token({ sub: " ann" }), "invalid_token", "sub is not a name");
refused("a user that is a number", issuer.token({ sub: 7 }), "invalid_token", "sub is not a name");
refused("no user", issuer.token({ sub: undefined }), "invalid_token", "no claim sub");
refused("a group with a comma", issuer.token(roles("cn=a,ou=b")), "invalid_token", "one of the token's groups (realm.roles) is not a name");
refused("groups that are not names", issuer.token(roles(7)), "invalid_token", "one of the token's groups (realm.roles) is not a name");
for (const [name, part] of [["header", 0], ["claims", 1], ["signature", 2]]) {
  const parts = issuer.token().split(".");
  parts[part] = parts[part].slice(0, -1);
  refused(`a shorter ${name}`, parts.join("."), "invalid_token", name === "signature" ? "" : `the token's ${name}`);
}
refused("a signature of nothing", issuer.token({}, { algorithm: "ES256" }).replace(/[^.]*$/, "A".repeat(86)), "wrong_signature", "signature");
refused("padding", `${issuer.token()}=`, "invalid_token", "signature");
const twice = (name) => JSON.stringify(issuer.claims(roles("ops"))).replace("{", `{"${name}":"x",`);
for (const name of ["aud", "iss", "sub", "exp"])
  refused(`${name} twice`, tokenOf({ alg: "RS256", kid: "RS256-1" }, twice(name), issuer.keys[0].privateKey), "invalid_token", `"${name}" twice`);
refused("kid twice", tokenOf({ alg: "RS256" }, issuer.claims(), issuer.keys[0].privateKey).replace(/^[^.]*/, Buffer.from('{"alg":"RS256","kid":"a","kid":"b"}').toString("base64url")), "invalid_token", '"kid" twice');
refused("too long", issuer.token({ sub: "a".repeat(8192) }), "token_too_large", "at most 8192 are read");
refused("no JSON", "bm8.bm8.bm8", "invalid_token", "the token's header");

writeFileSync(new URL("keys.json", import.meta.url), `${JSON.stringify(published, null, 2)}\n`);
writeFileSync(new URL("cases.jsonl", import.meta.url), rows.map((each) => `${JSON.stringify(each)}\n`).join(""));
