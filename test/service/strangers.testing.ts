import assert from "node:assert/strict";
import { request } from "node:http";
import { describe, test } from "node:test";
import type { Core } from "./core.testing.ts";

/** A GET with a Host and Origin that no fetch may send. @returns the status. */
function askAs(url: string, headers: Record<string, string>, method = "GET"): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode!);
    });
    sent.once("error", reject);
    sent.end();
  });
}

/** Who may use a service without auth: programs of this machine, but no web page. */
export function strangers(core: () => Core): void {
  describe("a service without auth", () => {
    test("answers only to loopback names, except to probes", async () => {
      const { url, port } = core().serving;
      for (const path of ["/v1/operations", "/openapi.json", "/metrics", "/data/feature_engine_a.json"]) {
        for (const host of ["evil.example", `evil.example:${port}`, `127.0.0.1.evil.example:${port}`]) {
          const status = await askAs(url + path, { host });
          assert.ok(status >= 400 && status < 500 && status !== 404, `${path} as ${host}: ${status}`);
        }
        for (const host of [
          `localhost:${port}`,
          `localhost:${port + 1}`,
          `127.0.0.1:${port}`,
          `[::1]:${port}`,
        ]) {
          const status = await askAs(url + path, { host });
          assert.ok(status === 200 || status === 404, `${path} as ${host}: ${status}`);
        }
      }
    });

    test("refuses requests of a foreign page, even to paths that do not exist", async () => {
      const { url } = core().serving;
      for (const origin of ["https://evil.example", "null", `http://127.0.0.1:${core().serving.port + 1}`]) {
        for (const [method, path] of [
          ["GET", "/v1/operations"],
          ["POST", "/v1/run_ml_job"],
          ["PUT", "/data/feature_engine_a.json"],
          ["OPTIONS", "/v1/run_ml_job"],
          ["POST", "/mcp"],
          ["GET", "/nowhere"],
        ] as const) {
          const status = await askAs(url + path, { origin }, method);
          assert.equal(status, 403, `${method} ${path} from ${origin}`);
        }
      }
      assert.equal(await askAs(`${url}/v1/operations`, { origin: url }), 200);
    });
  });
}
