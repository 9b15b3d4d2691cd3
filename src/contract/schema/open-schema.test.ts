import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { z } from "zod";
import { operationPageSchema, operationSchema } from "../api/operation-view.ts";
import { jsonSchema } from "../api/published-schemas.ts";
import { namedObjects, samplesOf } from "../api/samples.testing.ts";
import { snapshotSchema, storedEventSchema } from "../api/stored-event.ts";
import { statusBlobSchema } from "../output/job-events.ts";
import { outputBlobSchema } from "../output/output-blob.ts";
import { resultRecordSchema } from "../output/result-record.ts";
import { problemSchema } from "../problems/problem.ts";
import { warningSchema } from "../problems/warnings.ts";
import * as s from "./open-schema.ts";

const ANSWERS = {
  "output blob": outputBlobSchema,
  operation: operationSchema,
  page: operationPageSchema,
  event: storedEventSchema,
  snapshot: snapshotSchema,
  warning: warningSchema,
  "status blob": statusBlobSchema,
} satisfies Record<string, z.ZodType>;

const ajv = new Ajv2020({ strict: false, validateFormats: false });

/** What a reader may validate with: the zod schema, and the JSON Schema generated from it. */
function readersOf(written: z.ZodType): ((value: unknown) => boolean)[] {
  const open = s.openSchema(written);
  const check = ajv.compile(z.toJSONSchema(open, { io: "input" }));
  return [(value) => open.safeParse(value).success, (value) => check(value)];
}

const RECORD = samplesOf(resultRecordSchema)[0] as object;

describe("the open form of a schema", () => {
  for (const [name, written] of Object.entries(ANSWERS)) {
    test(`accepts an unknown member at every level of ${name}, which the strict form refuses`, () => {
      const readers = readersOf(written);
      for (const sample of samplesOf(written)) {
        written.parse(sample);
        const objects = namedObjects(written, sample);
        assert.ok(objects.length > 0);
        for (const object of objects) {
          object.added_later = { any: ["thing"] };
          assert.ok(!written.safeParse(sample).success, `${name}: ${JSON.stringify(object)}`);
          for (const takes of readers) assert.ok(takes(sample), `${name}: ${JSON.stringify(object)}`);
          assert.deepEqual(s.openSchema(written).parse(sample), sample, "it is kept");
          delete object.added_later;
        }
      }
    });
  }

  test("accepts other names in lists that may grow, and refuses them in others", () => {
    const warning = { code: "added_later", message: "m" };
    const [problem] = samplesOf(problemSchema) as object[];
    const progress = { stage: "added_later", done: 1, total: null };
    const [operation] = samplesOf(operationSchema) as object[];
    for (const [written, value] of [
      [warningSchema, warning],
      [problemSchema, { ...problem, code: "added_later" }],
      [operationSchema, { ...operation, progress }],
      [operationSchema, { ...operation, operation: "added_later" }],
    ] as const) {
      assert.ok(!written.safeParse(value).success);
      for (const takes of readersOf(written)) assert.ok(takes(value), JSON.stringify(value));
    }
    for (const takes of readersOf(operationSchema)) assert.ok(!takes({ ...operation, status: "Paused" }));
  });

  test("accepts events of other types, and refuses a known type with another shape", () => {
    const base = { seq: 1, operation_id: "one", time: "2026-01-05T21:00:00.000Z" };
    const other = { ...base, type: "added_later", data: { any: 1 } };
    assert.ok(!storedEventSchema.safeParse(other).success);
    for (const takes of readersOf(storedEventSchema)) {
      assert.ok(takes(other));
      assert.ok(!takes({ ...other, seq: "first" }));
      assert.ok(!takes({ ...base, type: "started", data: { attempt: "first" } }));
    }
  });

  test("keeps the result record exact, by itself and inside other schemas", () => {
    const more = { ...RECORD, added_later: 1 };
    const published = ajv.compile(jsonSchema("result-record"));
    assert.ok(published(RECORD) && !published(more));
    assert.ok(!resultRecordSchema.safeParse(more).success);
    const [operation] = samplesOf(operationSchema) as object[];
    const [event] = samplesOf(snapshotSchema) as object[];
    const [status] = samplesOf(statusBlobSchema) as object[];
    for (const [written, around] of [
      [operationSchema, (result: object) => ({ ...operation, result })],
      [
        operationPageSchema,
        (result: object) => ({ operations: [{ ...operation, result }], next_cursor: null }),
      ],
      [snapshotSchema, (result: object) => ({ ...event, data: { ...operation, result } })],
      [statusBlobSchema, (record: object) => ({ ...status, end: { record } })],
    ] as const) {
      for (const takes of readersOf(written)) {
        assert.ok(takes(around(RECORD)));
        assert.ok(!takes(around(more)));
      }
    }
  });
});

test("the published schemas of answers are open, those of requests are strict", () => {
  const [blob] = samplesOf(outputBlobSchema) as object[];
  assert.ok(ajv.compile(jsonSchema("output-blob"))({ ...blob, added_later: 1 }));
  assert.ok(ajv.compile(jsonSchema("warning"))({ code: "added_later", message: "m", added_later: 1 }));
  const payload = { feature_url: "f", data_extractor_url: "d", config: {} };
  const check = ajv.compile(jsonSchema("payload"));
  assert.ok(check(payload) && !check({ ...payload, added_later: 1 }));
});
