import assert from "node:assert/strict";
import { test } from "node:test";
import { AllowedHosts } from "./hosts-and-origins.ts";

const hosts = new AllowedHosts({ public_url: "https://a.example/path", allowed_hosts: ["b.example:8443"] });

test("a Host may be a configured name, a loopback name with any port or the address that the connection reached, and nothing else", () => {
  const at = { localAddress: "10.1.2.3", localPort: 8080 };
  for (const host of [
    "10.1.2.3:8080",
    "localhost:8080",
    "localhost:9000",
    "localhost",
    "127.0.0.1:8080",
    "127.0.0.1:9000",
    "a.example",
    "A.EXAMPLE:443",
    "b.example:8443",
  ]) {
    assert.ok(hosts.has(host, at), host);
  }
  for (const host of [
    "10.1.2.3",
    "10.1.2.4:8080",
    "10.1.2.3:80800",
    "b.example",
    "a.example:8080",
    "127.0.0.1:8080@a.example",
    "localhost.evil.example:8080",
    "localhost:65536",
    "evil.example:8080",
    "0x7f.1:8080",
    "[::1",
    "::1:8080",
  ]) {
    assert.ok(!hosts.has(host, at), host);
  }
});

test("an address matches in its IPv6 form, in brackets, and without port 80", () => {
  assert.ok(hosts.has("10.1.2.3", { localAddress: "::ffff:10.1.2.3", localPort: 80 }));
  assert.ok(hosts.has("[2001:db8::1]:8080", { localAddress: "2001:db8::1", localPort: 8080 }));
  assert.ok(hosts.has("[::1]:8080", { localAddress: "::1", localPort: 8080 }));
});
