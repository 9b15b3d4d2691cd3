import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { startUnreaped } from "../../../test/unreaped.testing.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { lockDataFolder } from "./data-lock.ts";
import { isShared } from "./file-system.ts";
import { type Holder, lockFile, readHolder, readLock } from "./lock-holder.ts";
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

/** Moves the monotonic clock on at each look at it. */
function hurryTime(t: TestContext, milliseconds: number): void {
  let now = performance.now();
  t.mock.method(performance, "now", () => {
    now += milliseconds;
    return now;
  });
}

/** Replaces a lock by that of another holder, last touched so many milliseconds ago. */
function replaceHolder(dataDir: string, changes: Partial<Holder>, age: number): void {
  const path = lockFile(dataDir);
  const lock = lockDataFolder(dataDir);
  const holder = readLock(path)!;
  lock.release();
  writeFileSync(path, JSON.stringify({ ...holder, ...changes }));
  const touched = new Date(Date.now() - age);
  utimesSync(path, touched, touched);
}

const YEAR = 365 * 86_400_000;

test("a holder on another machine keeps its folder, however long it is silent", () => {
  const dataDir = fresh("elsewhere");
  replaceHolder(dataDir, { host: "another-machine", boot: "another-boot" }, YEAR);
  assert.throws(
    () => lockDataFolder(dataDir),
    (error: unknown) =>
      unavailable(error) &&
      /process \d+ on another-machine .*touched its lock last at \d{4}-.*`mucast db unlock --data-dir \S+elsewhere`/.test(
        String(error),
      ),
  );
  assert.ok(existsSync(lockFile(dataDir)));
});

test("a holder of this machine from before its boot is gone; one that touched its lock since is on another machine of that name", () => {
  const dataDir = fresh("rebooted");
  replaceHolder(dataDir, { boot: "another-boot" }, YEAR);
  lockDataFolder(dataDir).release();
  replaceHolder(dataDir, { boot: "another-boot" }, 0);
  assert.throws(() => lockDataFolder(dataDir), unavailable);
});

test("a holder in another container of this machine is gone once it is silent", () => {
  const elsewhere = { host: "another-container", namespace: "pid:[1]" };
  replaceHolder(fresh("container"), elsewhere, 0);
  assert.ok(readHolder(fresh("container")));
  const dataDir = fresh("silent-container");
  replaceHolder(dataDir, elsewhere, 60_000);
  assert.equal(readHolder(dataDir), undefined);
  lockDataFolder(dataDir).release();
});

test("a holder in another container whose last touch lies in the future is waited for in vain, and named", (t) => {
  const dataDir = fresh("future-container");
  replaceHolder(dataDir, { host: "another-container", namespace: "pid:[1]" }, -3_600_000);
  hurryTime(t, 10_000);
  assert.throws(
    () => lockDataFolder(dataDir),
    (error: unknown) =>
      unavailable(error) && /on another-container .*`mucast db unlock --data-dir \S+`/.test(String(error)),
  );
});

test("unlocking removes the lock of a silent holder on another machine, and of no other", async () => {
  const dataDir = fresh("unlocked");
  await assert.rejects(unlockDataFolder(dataDir), /is not locked/);
  const held = lockDataFolder(dataDir);
  await assert.rejects(unlockDataFolder(dataDir), new RegExp(`process ${process.pid} `));
  held.release();
  replaceHolder(dataDir, { host: "another-machine", boot: "another-boot" }, YEAR);
  const path = lockFile(dataDir);
  const touching = async () => utimesSync(path, new Date(), new Date());
  await assert.rejects(unlockDataFolder(dataDir, touching), /touched its lock just now/);
  assert.ok(existsSync(path));
  const releasing = async () => rmSync(path);
  assert.equal((await unlockDataFolder(dataDir, releasing)).host, "another-machine");
  replaceHolder(dataDir, { host: "another-machine", boot: "another-boot" }, YEAR);
  const taking = async () => {
    rmSync(path);
    replaceHolder(dataDir, { host: "a-third-machine", boot: "another-boot" }, 0);
  };
  await assert.rejects(unlockDataFolder(dataDir, taking), /on a-third-machine touched its lock just now/);
  rmSync(path);
  replaceHolder(dataDir, { host: "another-machine", boot: "another-boot" }, YEAR);
  const freed = await unlockDataFolder(dataDir, async () => undefined);
  assert.equal(freed.host, "another-machine");
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
  assert.throws(() => first.check(), unavailable);
  assert.throws(() => first.endIfLost(), unavailable);
  first.release();
  assert.equal(readHolder(dataDir)!.token, second.token);
  second.release();
  assert.equal(readHolder(dataDir), undefined);
});

/** Moves one of the two clocks on: the monotonic one alone as where the wall clock was set back by the same time. */
function passTime(t: TestContext, clock: "monotonic" | "wall", milliseconds: number): void {
  const owner = clock === "monotonic" ? performance : Date;
  const before = owner.now();
  t.mock.method(owner, "now", () => before + milliseconds);
}

for (const clock of ["monotonic", "wall"] as const) {
  test(`after a second of the ${clock} clock the next check finds a lock that is lost`, (t) => {
    const dataDir = fresh(`checked-${clock}`);
    const reasons: string[] = [];
    const lock = lockDataFolder(dataDir, { onLost: (reason) => reasons.push(reason), isShared: false });
    passTime(t, clock, 3_600_000);
    lock.check();
    assert.deepEqual(reasons, []);
    rmSync(lockFile(dataDir));
    passTime(t, clock, 3_600_000);
    assert.throws(() => lock.endIfLost(), unavailable);
    assert.match(reasons.join(), /^the data folder is gone, or another process has its lock$/);
    lock.release();
  });

  test(`on a file system that machines share, 40 s of the ${clock} clock between two looks lose the lock`, (t) => {
    const dataDir = fresh(`shared-${clock}`);
    const reasons: string[] = [];
    const lock = lockDataFolder(dataDir, { onLost: (reason) => reasons.push(reason), isShared: true });
    passTime(t, clock, 35_000);
    lock.check();
    passTime(t, clock, 45_000);
    assert.throws(() => lock.endIfLost(), unavailable);
    assert.match(reasons.join(), /^this process stood still for 45 s, /);
    lock.release();
    assert.ok(existsSync(lockFile(dataDir)), "it may be another's by now");
  });
}

test("a file system in memory is this machine's alone; an unknown one may be shared", () => {
  if (process.platform === "linux")
    assert.deepEqual([isShared("/dev/shm"), isShared("/proc")], [false, true]);
});

test("a lock that could not be read for 10 s lets no statement run", (t) => {
  const dataDir = fresh("unchecked");
  const lock = lockDataFolder(dataDir, { onError: () => undefined, isShared: false });
  const path = lockFile(dataDir);
  renameSync(path, `${path}.aside`);
  mkdirSync(path);
  passTime(t, "monotonic", 5_000);
  lock.check();
  passTime(t, "monotonic", 6_000);
  assert.throws(() => lock.check(), /the lock of the data folder cannot be read: it is a folder \(EISDIR\)/);
  lock.endIfLost();
  rmdirSync(path);
  renameSync(`${path}.aside`, path);
  lock.check();
  lock.release();
});

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
