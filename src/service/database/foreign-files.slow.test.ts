/** A data folder that a service of another user owns, as after `sudo mucast db status`. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { copyNewDatabase } from "../../../test/servers/database-template.testing.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { lockDataFolder } from "../lock/data-lock.ts";
import { checkOwner } from "../lock/folder-owner.ts";
import { lockFile } from "../lock/lock-holder.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-owners-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** In no list of users, as with `docker run --user 12345`. */
const OTHER = 12345;

const asRoot = { skip: process.geteuid?.() !== 0 && "only root may give files to another user" };

/** What a script says about a path, run by the other user, or if this process may not become one, by its own. */
function saidByOther(module: string, script: string, path: string): string {
  const program = `
    const module = await import(${JSON.stringify(new URL(module, import.meta.url).href)});
    try {
      ${script}
      console.log("done");
    } catch ({ code, message }) {
      console.log(code, message);
    }`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program, path], {
    ...(asRoot.skip === false ? { uid: OTHER, gid: OTHER } : {}),
    encoding: "utf8",
  });
  assert.equal(stderr, "");
  return stdout;
}

function filesOf(dataDir: string): string[] {
  return readdirSync(dataDir, { recursive: true, encoding: "utf8" }).sort();
}

test("a file that another user has made is told from an own one", asRoot, () => {
  const [own, other] = [join(folder, "own"), join(folder, "other")];
  for (const path of [own, other]) mkdirSync(path);
  chownSync(other, OTHER, OTHER);
  checkOwner(own, own);
  checkOwner(other, other);
  checkOwner(join(folder, "none"), own);
  assert.throws(
    () => checkOwner(own, other),
    /belongs to root \(uid 0\), and this process runs as uid 12345\. .*`sudo chown -R 12345 /,
  );
});

test(
  "root does not open another user's database, a restored one included, and leaves nothing there",
  asRoot,
  async () => {
    for (const name of ["database", "database.restored"]) {
      const dataDir = join(folder, `of-other-${name}`);
      mkdirSync(join(dataDir, name), { recursive: true });
      chownSync(join(dataDir, name), OTHER, OTHER);
      const files = filesOf(dataDir);
      assert.throws(
        () => lockDataFolder(dataDir),
        (error) =>
          error instanceof MucastError &&
          error.code === "unavailable" &&
          error.message.startsWith(
            `${join(dataDir, name)} belongs to uid 12345, and this process runs as root (uid 0). `,
          ) &&
          error.message.endsWith("`sudo -u '#12345' mucast …`, or in a container with `--user 12345`"),
      );
      assert.deepEqual(filesOf(dataDir), files);
    }
  },
);

test("a lock of another user is named with its owner", asRoot, () => {
  const dataDir = join(folder, "locked");
  chmodSync(folder, 0o755);
  mkdirSync(dataDir);
  writeFileSync(lockFile(dataDir), "{}", { mode: 0o600 });
  chownSync(dataDir, OTHER, OTHER);
  const said = saidByOther("../lock/unlock.ts", "module.unlockDataFolder(process.argv[1]);", dataDir);
  assert.match(
    said,
    /^unavailable the lock cannot be read: permission denied \(EACCES\)\. \S+\/service\.lock belongs to root /,
  );
});

test("a folder without a database is used, even if another user owns it", asRoot, () => {
  const dataDir = join(folder, "volume");
  mkdirSync(dataDir);
  chownSync(dataDir, OTHER, OTHER);
  lockDataFolder(dataDir).release();
});

/** Opens a database as a user who is not root, who owns everything but the named files, and returns the message. */
function opened(dataDir: string, denied: Readonly<Record<string, { uid?: number; mode: number }>>): string {
  const isRoot = asRoot.skip === false;
  const database = join(dataDir, "database");
  if (isRoot) {
    for (const path of [dataDir, ...filesOf(dataDir).map((name) => join(dataDir, name))])
      chownSync(path, OTHER, OTHER);
  }
  for (const [name, { uid, mode }] of Object.entries(denied)) {
    if (uid !== undefined) chownSync(join(database, name), uid, uid);
    chmodSync(join(database, name), mode);
  }
  return saidByOther("pglite.ts", "await (await module.openPglite(process.argv[1])).close();", database);
}

describe("a database with a file that its user may not read", () => {
  const dataDir = join(folder, "mixed");
  before(async () => {
    chmodSync(folder, 0o755);
    // A copied database shares files with the template, whose owner must not change.
    const linked = join(folder, "linked");
    await copyNewDatabase(linked);
    cpSync(linked, dataDir, { recursive: true });
  });

  test("names the file of another user and chown, not damage or a restore", asRoot, () => {
    const said = opened(dataDir, { "global/pg_control": { uid: 0, mode: 0o600 } });
    assert.ok(
      said.includes(
        `cannot be opened: permission denied (EACCES). ${dataDir}/database/global/pg_control belongs to root (uid 0), and this process runs as uid 12345. Give this user the whole folder: \`sudo chown -R 12345 ${dataDir}\``,
      ),
      said,
    );
    assert.doesNotMatch(said, /damaged|restore|lost/);
  });

  test("names an own file without the right, and chmod", () => {
    const said = opened(dataDir, { PG_VERSION: { mode: 0o400 }, "global/pg_control": { mode: 0 } });
    assert.match(
      said,
      /^unavailable .* permission denied \(EACCES\)\. Its owner has no right to \S+: `chmod -R u\+rwX \S+`\n$/,
    );
    assert.equal(
      opened(dataDir, { PG_VERSION: { mode: 0o600 }, "global/pg_control": { mode: 0o600 } }),
      "done\n",
    );
  });
});
