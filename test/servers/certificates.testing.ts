/** An authority and its certificate for the machines of a test, made by openssl as docs/cluster.md says. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Certificates {
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

/** @param addresses of all machines that will use it. */
export function makeCertificates(folder: string, addresses: readonly string[]): Certificates {
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  const fresh = ["-newkey", "rsa:2048", "-nodes"];
  const names = addresses.map((address) => `IP:${address}`).join(",");
  writeFileSync(at("node.ext"), `subjectAltName=${names}`);
  openssl("req", "-x509", ...fresh, "-subj", "/CN=test", "-keyout", at("ca.key"), "-out", at("ca.crt"));
  openssl("req", ...fresh, "-subj", "/CN=node", "-keyout", at("node.key"), "-out", at("node.csr"));
  const signing = [
    "-CA",
    at("ca.crt"),
    "-CAkey",
    at("ca.key"),
    "-CAcreateserial",
    "-extfile",
    at("node.ext"),
  ];
  openssl("x509", "-req", "-in", at("node.csr"), ...signing, "-out", at("node.crt"));
  return { authority: at("ca.crt"), certificate: at("node.crt"), key: at("node.key") };
}
