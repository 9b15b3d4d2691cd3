import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { treeOf } from "../../../test/service/processes.testing.ts";
import { openStore } from "../../blob/open-store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { mlText } from "../../outputs/outputs.testing.ts";
import { childEnvironment } from "../../processes/child.ts";
import { drawReport } from "../../report/write-report.ts";
import { noLog } from "../telemetry/no-telemetry.testing.ts";
import { type ProcessLimits, type ReportOrder, RequestProcesses, runProcess } from "./request-processes.ts";

const SPACE = "key-0123456789abcdef";
const NEVER = new AbortController().signal;
const LEFT = new MucastError("canceled", "the caller has left");
const LIMITS: ProcessLimits = {
  env: childEnvironment(process.env, {}),
  memoryBytes: 2 ** 30,
  seconds: 300,
};

describe("the process of a request", { timeout: 600_000 }, () => {
  let folder: string;
  /** A storage that accepts requests and answers none. */
  let silent: Server;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "mucast-request-"));
    mkdirSync(join(folder, SPACE, "data"), { recursive: true });
    silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(silent, "listening");
  });
  after(() => {
    silent.closeAllConnections();
    silent.close();
    rmSync(folder, { recursive: true });
  });

  async function orderFor(name: string, text: string): Promise<ReportOrder> {
    writeFileSync(join(folder, SPACE, "data", name), text);
    const policy = { allowed: [], mapped: [{ base: "", folder, root: folder }] };
    const stored = await (await openStore("", { policy })).within(SPACE).stat(`data/${name}`);
    const storage = { blobUrl: "", policy };
    return { kind: "report", storage, outputs: [{ space: SPACE, name, etag: stored!.etag }] };
  }

  /** A report whose output never comes. */
  function heldOrder(): ReportOrder {
    const origin = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const policy = { allowed: [], privateOrigins: [origin], container: `${origin}/c` };
    const storage = { blobUrl: `${origin}/c?sv=2025-01-05&sig=secret`, policy };
    return { kind: "report", storage, outputs: [{ space: "", name: "ml_engine_1.json", etag: '"1"' }] };
  }

  /** The process of one request. */
  function held(limits: Partial<ProcessLimits> = {}, signal = NEVER) {
    const before = treeOf(process.pid).map(({ pid }) => pid);
    const running = runProcess(heldOrder(), { ...LIMITS, ...limits }, signal);
    running.catch(() => undefined);
    const made = treeOf(process.pid).filter(({ pid }) => !before.includes(pid));
    assert.equal(made.length, 1);
    return { running, pid: made[0]!.pid };
  }

  async function* chunksOf(text: string) {
    yield Buffer.from(text);
  }

  test("returns the page that mucast report draws of several outputs", async () => {
    const texts = [mlText({ skills: [0.1, 0.2] }), mlText({ skills: [0.3, 0] })];
    const orders = [
      await orderFor("ml_engine_4.json", texts[0]!),
      await orderFor("ml_engine_5.json", texts[1]!),
    ];
    const order = { ...orders[0]!, outputs: orders.flatMap(({ outputs }) => outputs) };
    const page = await runProcess(order, LIMITS, NEVER);
    const stored = order.outputs.map(({ name }, i) => ({ name, read: () => chunksOf(texts[i]!) }));
    assert.equal(page.toString(), await drawReport(stored));
    assert.match(page.toString(), /<h2 id="comparison">/);
  });

  test("returns the error of an output that has no report, and of one that has changed meanwhile", async () => {
    const document = JSON.parse(mlText());
    document.mu.AAA = 0.5;
    const edited = await orderFor("ml_engine_2.json", JSON.stringify(document));
    await assert.rejects(runProcess(edited, LIMITS, NEVER), {
      code: "invalid_data",
      message: /its mu\.AAA is 0\.5/,
    });
    const [output] = edited.outputs;
    const gone = { ...edited, outputs: [{ ...output!, name: "ml_engine_3.json" }] };
    await assert.rejects(runProcess(gone, LIMITS, NEVER), { code: "blob_not_found" });
    await assert.rejects(
      runProcess({ ...edited, outputs: [{ ...output!, etag: '"other"' }] }, LIMITS, NEVER),
      {
        code: "blob_unavailable",
      },
    );
  });

  test("is killed at its time limit, and when its caller leaves", async () => {
    const late = held({ seconds: 0.001 });
    await assert.rejects(late.running, {
      code: "timed_out",
      message: /longer than 0.001 s \(request_seconds\)/,
    });
    const leaving = new AbortController();
    const left = held({}, leaving.signal);
    leaving.abort();
    await assert.rejects(left.running, { code: "canceled" });
    for (const { pid } of [late, left]) assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
    await assert.rejects(runProcess(await orderFor("x.json", "{}"), LIMITS, AbortSignal.abort()), {
      code: "canceled",
    });
  });

  test("leaves no work folder when it is killed", async () => {
    const temporary = mkdtempSync(join(folder, "temporary-"));
    const { policy } = heldOrder().storage;
    const storage = {
      blobUrl: "",
      policy: { ...policy, allowed: [policy.container!], container: undefined },
    };
    const url = (kind: string) => `${policy.container}/data/${kind}_1.json`;
    const urls = { featureUrl: url("feature_engine"), dataExtractorUrl: url("data_extractor") };
    const inputs = { ...urls, config: '{"ML params": {"model": "ridge"}}', options: {} };
    const limits = { ...LIMITS, env: { ...LIMITS.env, TMPDIR: temporary } };
    const asked = once(silent, "request");
    const leaving = new AbortController();
    const running = runProcess({ kind: "validate", storage, inputs }, limits, leaving.signal);
    await Promise.race([asked, running]);
    assert.equal(readdirSync(temporary).length, 1);
    leaving.abort(LEFT);
    await assert.rejects(running, {
      code: "canceled",
    });
    assert.deepEqual(readdirSync(temporary), []);
  });

  test("is killed over its memory limit, and if its page is too large", async () => {
    // Less than the process holds once it has loaded its modules.
    await assert.rejects(held({ memoryBytes: 2 ** 25 }).running, {
      code: "too_large",
      message: "to draw the report takes more than 32 MiB of memory (request_memory_bytes)",
    });
    const small = await orderFor("ml_engine_5.json", mlText());
    await assert.rejects(runProcess(small, { ...LIMITS, answerBytes: 1_000 }, NEVER), {
      code: "too_large",
    });
  });

  test("is refused at once beyond the maximum number, and counts by how it ended", async () => {
    const ended: unknown[] = [];
    const order = heldOrder();
    const processes = new RequestProcesses({
      settings: { request_processes: 2, request_memory_bytes: LIMITS.memoryBytes, request_seconds: 300 },
      ...{ env: process.env, storage: { access: order.storage }, log: noLog },
      telemetry: { requestProcessEnded: (...end) => void ended.push(end) },
    });
    const leaving = new AbortController();
    const running = [1, 2].map(() => assert.rejects(processes.run(order, leaving.signal), LEFT));
    await assert.rejects(processes.run(order, NEVER), { code: "unavailable", data: { retryAfter: 5 } });
    assert.equal(processes.running, 2);
    leaving.abort(LEFT);
    await processes.close();
    await Promise.all(running);
    const canceled = ["report", "canceled"];
    assert.deepEqual([processes.running, ended], [0, [canceled, canceled]]);
  });
});
