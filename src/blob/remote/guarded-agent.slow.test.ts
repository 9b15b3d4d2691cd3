import assert from "node:assert/strict";
import type { LookupAddress } from "node:dns";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { DEFAULT_TRANSFER_LIMITS } from "../policy.ts";
import { guardedAgent, guardedLookup } from "./addresses.ts";
import { send } from "./remote-request.ts";

/** A fake: a resolver whose answers change from one query to the next. */
function fakeResolver(...answers: readonly string[][]) {
  let asked = 0;
  const resolve = (_name: string, _options: unknown, done: (...args: unknown[]) => void) => {
    const addresses = answers[Math.min(asked++, answers.length - 1)]!;
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  };
  return { resolve: resolve as never, asked: () => asked };
}

function lookUp(lookup: ReturnType<typeof guardedLookup>, all: boolean): Promise<string | LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup("a.example", { all }, (error, address) => (error ? reject(error) : resolve(address)));
  });
}

test("the connection gets the checked addresses, from a single query", async () => {
  const { resolve, asked } = fakeResolver(["20.60.0.1", "2603:1030::1"], ["127.0.0.1"]);
  const lookup = guardedLookup("https://a.example", "public", resolve);
  assert.deepEqual(await lookUp(lookup, true), [
    { address: "20.60.0.1", family: 4 },
    { address: "2603:1030::1", family: 6 },
  ]);
  assert.equal(asked(), 1);
  await assert.rejects(lookUp(lookup, false), /not public.*MUCAST_PRIVATE_ORIGINS/);
});

test("refuses a name as url_not_allowed if one of its addresses is not public", async () => {
  for (const answer of [["20.60.0.1", "10.0.0.1"], ["::ffff:169.254.169.254"], ["fd00::1"], []]) {
    const lookup = guardedLookup("https://a.example", "public", fakeResolver(answer).resolve);
    await assert.rejects(lookUp(lookup, true), (error) => {
      assert.ok(error instanceof MucastError);
      assert.doesNotMatch(error.message, /10\.0|169\.254|fd00/);
      return (
        error.code === "url_not_allowed" && error.message.includes("https://a.example in MUCAST_PRIVATE")
      );
    });
  }
  const listed = guardedLookup("https://a.example", "any", fakeResolver(["10.0.0.1"]).resolve);
  assert.equal(await lookUp(listed, false), "10.0.0.1");
  const plain = guardedLookup("http://localhost", "loopback", fakeResolver(["10.0.0.1"]).resolve);
  await assert.rejects(lookUp(plain, false), /loopback/);
});

test("opens no connection to a name that resolves to this machine unless that is allowed", async () => {
  let connections = 0;
  const server = createServer((_, response) => response.end("hello"));
  server.on("connection", () => connections++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const ask = async (rule: "public" | "loopback") => {
    const agent = guardedAgent(origin, rule);
    const request = { method: "GET", headers: {}, limits: DEFAULT_TRANSFER_LIMITS, agent };
    const { signal } = new AbortController();
    const answer = await send({ ...request, url: new URL(origin), signal });
    answer.resume();
    return answer.statusCode;
  };
  await assert.rejects(ask("public"), /not public/);
  assert.equal(connections, 0);
  assert.equal(await ask("loopback"), 200);
  server.closeAllConnections();
  server.close();
});
