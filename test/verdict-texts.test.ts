import assert from "node:assert/strict";
import { test } from "node:test";
import { FINDING_TABLE } from "../src/audit/findings.ts";
import { auditPayloadSchema, replayPayloadSchema } from "../src/contract/config/payload-schemas.ts";
import { REPLAY_REASONS } from "../src/contract/output/replay-blob.ts";

const TABLES = [
  [FINDING_TABLE, auditPayloadSchema],
  [REPLAY_REASONS, replayPayloadSchema],
] as const;

test("advice of a verdict that names a flag also names the payload's member, because callers over HTTP have no flags", () => {
  let flags = 0;
  for (const [table, payload] of TABLES) {
    for (const [code, { advice }] of Object.entries(table)) {
      for (const [, flag] of advice.matchAll(/--([a-z-]+)/g)) {
        const member = flag!.replaceAll("-", "_");
        assert.ok(Object.hasOwn(payload.shape, member), `${code}: ${member} is a member`);
        assert.ok(advice.includes(`\`${member}\``), `${code}: ${advice}`);
        flags++;
      }
    }
  }
  assert.ok(flags >= 5);
});
