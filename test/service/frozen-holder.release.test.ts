/** A service that was frozen while another one took over its data folder: the files of the database belong to the other one. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { isStopped } from "../../src/contract/machine/process-stat.ts";
import { type Holder, lockFile } from "../../src/service/lock/lock-holder.ts";
import { mucast } from "../end-to-end/commands/command.ts";
import { Api } from "./api.testing.ts";
import { eventuallyTrue } from "./eventually.testing.ts";
import { payload, putInputs } from "./inputs.testing.ts";
import {
  endServices,
  launchServe,
  type Serving,
  serviceFolder,
  silentEngine,
  startServe,
} from "./service.testing.ts";

after(endServices);

/** The exit status of a service that has lost its data folder, as docs/deploying.md has it. */
const LOST = 9;

/** Makes the lock of a service look like that of a service on another host. */
function moveElsewhere({ dataDir }: Serving): void {
  const path = lockFile(dataDir);
  const holder = JSON.parse(readFileSync(path, "utf8")) as Holder;
  writeFileSync(path, JSON.stringify({ ...holder, host: "another-host" }));
}

/** Numbers of `epoll_wait` and `epoll_pwait` on x86-64, and of `epoll_pwait` on AArch64. */
const WAITS_FOR_EVENTS = /^(232|281|22) /;

/**
 * Freezes a service whose main thread waits for events. One that is frozen within a statement finishes that statement when it wakes, which
 * docs/reliability.md leaves to the operator.
 */
async function freezeBetweenStatements({ pid, signal }: Serving): Promise<void> {
  await eventuallyTrue("the service is frozen while it waits for events", async () => {
    signal("SIGSTOP");
    await eventuallyTrue("the service is frozen", () => isStopped(pid));
    const isIdle = WAITS_FOR_EVENTS.test(readFileSync(`/proc/${pid}/syscall`, "latin1"));
    if (!isIdle) signal("SIGCONT");
    return isIdle;
  });
}

test("a frozen service that wakes after another one took over its folder ends before it answers, and the database stays intact", {
  timeout: 600_000,
}, async () => {
  const folder = await serviceFolder();
  const env = await silentEngine(folder);
  const first = await startServe({ folder, env });
  const api = new Api(first.url);
  await putInputs(api, "small");
  const before = await api.submit(payload(first.url, "small"));
  await freezeBetweenStatements(first);
  moveElsewhere(first);

  const refused = await launchServe({ folder, env });
  assert.equal((await refused.exited).code, 3, refused.logs());
  assert.match(refused.logs(), new RegExp(`process ${first.pid} on another-host `));
  assert.ok(refused.logs().includes(`mucast db unlock --data-dir ${first.dataDir}`), refused.logs());

  assert.equal((await mucast(["db", "unlock", "--data-dir", first.dataDir])).code, 0);
  const second = await startServe({ folder, env });
  const meanwhile = await new Api(second.url).submit(payload(second.url, "small"));
  // Requests wait in the socket of the first one, which is frozen, and are there when it wakes.
  const asked = ["/readyz", "/healthz", `/v1/operations/${before.id}`, "/v1/operations"].map((path) =>
    fetch(`${first.url}${path}`).then(
      ({ status }) => status,
      () => "no answer",
    ),
  );
  first.signal("SIGCONT");
  assert.deepEqual(
    await Promise.all(asked),
    asked.map(() => "no answer"),
  );
  assert.deepEqual(await first.exited, { code: LOST, signal: null }, first.logs());
  assert.equal(first.logs().match(/another process has its lock/g)?.length, 1, first.logs());
  // Its last changes are only in the log, which the first one would have overwritten.
  await second.kill9();

  const third = await startServe({ folder, env });
  const { operations } = await new Api(third.url).list();
  assert.deepEqual(new Set(operations.map(({ id }) => id)), new Set([before.id, meanwhile.id]));
});
