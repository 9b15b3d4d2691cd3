import assert from "node:assert/strict";
import { test } from "node:test";
import { isEveryAddress } from "./service-address.ts";

test("every address of the machine is told apart from a single one", () => {
  const listensOnAll = (host: string) => isEveryAddress({ host, port: 0 });
  for (const host of ["0.0.0.0", "::", "[::]", "0:0:0:0:0:0:0:0"]) assert.ok(listensOnAll(host), host);
  for (const host of ["127.0.0.1", "192.0.2.7", "::1", "[::1]", "fe80::1%eth0", "localhost", "forecaster"])
    assert.ok(!listensOnAll(host), host);
});
