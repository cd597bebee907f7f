// Certificates for tests, made by the openssl command in a folder of the test.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const kKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
const openssl = (folder, ...words) => execFileSync("openssl", words, { stdio: "ignore", cwd: folder });

/// Makes the certificate NAME.pem and the key NAME.key of an authority.
export function makeAuthority(folder, name) {
  openssl(folder, "req", "-x509", ...kKey, "-keyout", `${name}.key`, "-out", `${name}.pem`, "-days", "2", "-subj", `/CN=${name}`);
}

/// Makes NAME.pem, signed by the authority, and NAME.key for these names, such as "DNS:localhost,IP:127.0.0.1".
export function issue(folder, name, by, names) {
  openssl(folder, "req", ...kKey, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`);
  writeFileSync(join(folder, `${name}.names`), `subjectAltName=${names}\n`);
  openssl(folder, "x509", "-req", "-in", `${name}.csr`, "-CA", `${by}.pem`, "-CAkey", `${by}.key`, "-CAcreateserial", "-days", "2",
    "-extfile", `${name}.names`, "-out", `${name}.pem`);
}
