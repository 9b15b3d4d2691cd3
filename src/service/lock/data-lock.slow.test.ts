import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startUnreaped } from "../../../test/unreaped.testing.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { lockDataFolder } from "./data-lock.ts";
import { type Holder, lockFile, ownHolder, readHolder, readLock } from "./lock-holder.ts";
import { unlockDataFolder } from "./unlock.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-lock-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const fresh = (name: string) => join(folder, name);
const unavailable = (error: unknown) => error instanceof MucastError && error.code === "unavailable";

/** A program that takes the lock, reports that, and waits for the end of its stdin. */
function holding(dataDir: string): string[] {
  const script = `
    const { lockDataFolder } = await import(${JSON.stringify(new URL("./data-lock.ts", import.meta.url).href)});
    try { lockDataFolder(${JSON.stringify(dataDir)}); console.log("held"); }
    catch (error) { console.log(error.code); process.exit(0); }
    process.stdin.resume();
    process.stdin.on("end", () => process.exit(0));`;
  return [process.execPath, "--input-type=module", "-e", script];
}

function holdElsewhere(dataDir: string) {
  const [command, ...args] = holding(dataDir);
  return spawn(command!, args, { stdio: ["pipe", "pipe", "inherit"] });
}

async function answerOf(child: ReturnType<typeof holdElsewhere>): Promise<string> {
  const [line] = await once(child.stdout!, "data");
  return String(line).trim();
}

test("a folder has one holder, whom the error of the second one names", () => {
  const lock = lockDataFolder(fresh("once"));
  lock.announce("http://127.0.0.1:1");
  assert.throws(
    () => lockDataFolder(fresh("once")),
    (error: unknown) =>
      unavailable(error) && new RegExp(`process ${process.pid} .*http://127.0.0.1:1`).test(String(error)),
  );
  assert.equal(readHolder(fresh("once"))!.token, lock.token);
  assert.equal(statSync(lockFile(fresh("once"))).mode & 0o777, 0o600);
  assert.equal(statSync(fresh("once")).mode & 0o777, 0o700);
  lock.release();
  assert.equal(readHolder(fresh("once")), undefined);
  lockDataFolder(fresh("once")).release();
  assert.deepEqual(readdirSync(fresh("once")), []);
});

test("the lock of a killed process is taken over", async () => {
  const dataDir = fresh("killed");
  const holder = holdElsewhere(dataDir);
  assert.equal(await answerOf(holder), "held");
  assert.throws(() => lockDataFolder(dataDir), unavailable);
  holder.kill("SIGKILL");
  await once(holder, "exit");
  assert.ok(existsSync(lockFile(dataDir)));
  assert.equal(readHolder(dataDir), undefined);
  const lock = lockDataFolder(dataDir);
  assert.equal(readLock(lockFile(dataDir))!.pid, process.pid);
  lock.release();
});

test("the lock of a killed process is taken over while that is still a zombie", async (t) => {
  const dataDir = fresh("zombie");
  const holder = await startUnreaped(t, holding(dataDir));
  assert.equal((await holder.lines.next()).value, "held");
  assert.throws(() => lockDataFolder(dataDir), unavailable);
  await holder.kill();
  assert.equal(readHolder(dataDir), undefined);
  lockDataFolder(dataDir).release();
});

test("of many processes that find a dead holder one gets the folder", async () => {
  const dataDir = fresh("many");
  const dead = holdElsewhere(dataDir);
  await answerOf(dead);
  dead.kill("SIGKILL");
  await once(dead, "exit");
  const all = Array.from({ length: 6 }, () => holdElsewhere(dataDir));
  const answers = await Promise.all(all.map(answerOf));
  assert.deepEqual(answers.toSorted(), ["held", ...Array(5).fill("unavailable")]);
  for (const child of all) child.stdin!.end();
});

/** Replaces a lock by that of another holder. */
function replaceHolder(dataDir: string, changes: Partial<Holder>): void {
  const path = lockFile(dataDir);
  const lock = lockDataFolder(dataDir);
  const holder = readLock(path)!;
  lock.release();
  writeFileSync(path, JSON.stringify({ ...holder, ...changes }));
}

test("a holder on another host keeps its folder, and the error names the command that frees it", () => {
  const dataDir = fresh("elsewhere");
  replaceHolder(dataDir, { host: "another-host" });
  assert.throws(
    () => lockDataFolder(dataDir),
    (error: unknown) =>
      unavailable(error) &&
      /process \d+ on another-host .*`mucast db unlock --data-dir \S+elsewhere`/.test(String(error)),
  );
  assert.ok(readHolder(dataDir));
});

test("a holder from before the boot of its host is gone, and so is one whose pid another process has now", () => {
  const dataDir = fresh("rebooted");
  for (const changes of [{ boot: "another-boot" }, { start: "1" }]) {
    replaceHolder(dataDir, changes);
    assert.equal(readHolder(dataDir), undefined);
    lockDataFolder(dataDir).release();
  }
});

test("before the folder of a holder in another container is used, that holder has had the time to look at its lock", (t) => {
  const dataDir = fresh("container");
  replaceHolder(dataDir, { start: "1", namespace: "pid:[1]" });
  const wait = t.mock.method(Atomics, "wait", () => "timed-out" as const);
  lockDataFolder(dataDir).release();
  assert.equal(wait.mock.callCount(), 1);
});

test("a lock that another process takes over at the same moment stays that process's", (t) => {
  const dataDir = fresh("at-once");
  replaceHolder(dataDir, { start: "1" });
  const path = lockFile(dataDir);
  const dead = readFileSync(path, "utf8");
  const other = JSON.stringify({ ...JSON.parse(dead), start: ownHolder("").start, token: "other" });
  // The first look finds the dead holder, and the other process takes the lock right after it.
  const parse = JSON.parse;
  t.mock.method(
    JSON,
    "parse",
    (text: string) => {
      if (text === dead) writeFileSync(path, other);
      return parse(text);
    },
    { times: 1 },
  );
  assert.throws(() => lockDataFolder(dataDir), unavailable);
  assert.equal(readHolder(dataDir)?.token, "other");
  assert.deepEqual(readdirSync(dataDir), ["service.lock"]);
});

test("the lock of a process that died while it took over another lock is taken over", () => {
  const dataDir = fresh("guarded");
  replaceHolder(dataDir, { start: "1", token: "first" });
  const path = lockFile(dataDir);
  const dead = readFileSync(path, "utf8");
  const guard = (token: string) => createHash("sha256").update(token).digest("hex").slice(0, 16);
  writeFileSync(`${path}.${guard("first")}`, dead.replace("first", "second"));
  writeFileSync(`${path}.${guard("first")}.${guard("second")}`, dead.replace("first", "third"));
  const lock = lockDataFolder(dataDir);
  assert.deepEqual(readdirSync(dataDir), ["service.lock"]);
  lock.release();
});

test("while a living process takes over a dead holder's lock, no other one does", () => {
  const dataDir = fresh("taken-over");
  replaceHolder(dataDir, { start: "1", token: "first" });
  const path = lockFile(dataDir);
  const guard = `${path}.${createHash("sha256").update("first").digest("hex").slice(0, 16)}`;
  writeFileSync(guard, JSON.stringify(ownHolder("other")));
  assert.throws(() => lockDataFolder(dataDir), unavailable);
  assert.deepEqual([readHolder(dataDir), readdirSync(dataDir).length], [undefined, 2]);
});

test("unlocking removes the lock of a holder on another host, and not that of a living one on this host", () => {
  const dataDir = fresh("unlocked");
  assert.throws(() => unlockDataFolder(dataDir), /is not locked/);
  const held = lockDataFolder(dataDir);
  assert.throws(() => unlockDataFolder(dataDir), new RegExp(`process ${process.pid} `));
  held.release();
  replaceHolder(dataDir, { host: "another-host" });
  assert.equal(unlockDataFolder(dataDir).host, "another-host");
  lockDataFolder(dataDir).release();
});

test("the holder notices a removed lock, and leaves another holder's lock alone", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const dataDir = fresh("lost");
  let lost = 0;
  const first = lockDataFolder(dataDir, {
    onLost: () => {
      lost += 1;
    },
  });
  t.mock.timers.tick(10_000);
  assert.equal(lost, 0);
  rmSync(lockFile(dataDir));
  const second = lockDataFolder(dataDir);
  t.mock.timers.tick(20_000);
  assert.equal(lost, 1);
  assert.throws(() => first.endIfLost(), unavailable);
  first.release();
  assert.equal(readHolder(dataDir)!.token, second.token);
  second.release();
  assert.equal(readHolder(dataDir), undefined);
});

for (const [direction, milliseconds] of [
  ["on", 3_600_000],
  ["back", -3_600_000],
] as const) {
  test(`once the clock has moved ${direction} by more than a second, the next check finds a lock that is lost`, (t) => {
    const dataDir = fresh(`checked-${direction}`);
    const reasons: string[] = [];
    const lock = lockDataFolder(dataDir, { onLost: (reason) => reasons.push(reason) });
    const began = Date.now();
    t.mock.method(Date, "now", () => began + milliseconds);
    lock.endIfLost();
    assert.deepEqual(reasons, []);
    rmSync(lockFile(dataDir));
    t.mock.method(Date, "now", () => began + 2 * milliseconds);
    assert.throws(() => lock.endIfLost(), unavailable);
    assert.deepEqual(reasons, ["the data folder is gone, or another process has its lock"]);
    lock.release();
  });
}

test("a lock that cannot be read for a while stays held", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const dataDir = fresh("unreadable");
  const [errors, lost]: [unknown[], unknown[]] = [[], []];
  const lock = lockDataFolder(dataDir, {
    onLost: () => lost.push(1),
    onError: (error) => errors.push(error),
  });
  const path = lockFile(dataDir);
  renameSync(path, `${path}.aside`);
  // A folder in place of the file makes reads fail, for root too, with an error other than ENOENT.
  mkdirSync(path);
  t.mock.timers.tick(20_000);
  assert.deepEqual(
    [errors.map((error) => (error as NodeJS.ErrnoException).code), lost],
    [["EISDIR", "EISDIR"], []],
  );
  rmdirSync(path);
  renameSync(`${path}.aside`, path);
  t.mock.timers.tick(20_000);
  assert.deepEqual([errors.length, lost], [2, []]);
  lock.release();
  assert.equal(readHolder(dataDir), undefined);
});

test("the error of a folder that cannot be written names its path", () => {
  const dataDir = fresh("file");
  writeFileSync(dataDir, "");
  assert.throws(
    () => lockDataFolder(dataDir),
    (error: unknown) =>
      error instanceof MucastError && error.code === "output_failed" && error.message.includes(dataDir),
  );
});

test("a dangling link in place of the lock is an error", () => {
  const dataDir = fresh("link");
  lockDataFolder(dataDir).release();
  symlinkSync(join(dataDir, "nowhere"), lockFile(dataDir));
  assert.throws(() => lockDataFolder(dataDir), unavailable);
});

test("the lock of a service of a later version is read", () => {
  const dataDir = fresh("later");
  const lock = lockDataFolder(dataDir);
  const held = readHolder(dataDir)!;
  writeFileSync(lockFile(dataDir), JSON.stringify({ ...held, added_later: 1 }));
  assert.equal(readHolder(dataDir)?.pid, process.pid);
  lock.release();
});

test("a file that is no lock is not removed", () => {
  const dataDir = fresh("odd");
  lockDataFolder(dataDir).release();
  writeFileSync(lockFile(dataDir), "my notes");
  assert.throws(
    () => lockDataFolder(dataDir),
    (error: unknown) => unavailable(error) && /is not a lock of mucast/.test(String(error)),
  );
});
