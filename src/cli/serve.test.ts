import assert from "node:assert/strict";
import { test } from "node:test";
import { dataLine } from "./serve.ts";

test("serve names its data folder, unless the database and the blobs are elsewhere", () => {
  const folder = { data_dir: "/srv/mucast", blob_url: "/srv/mucast/blobs", database_url: undefined };
  const [database_url, blob_url] = ["postgres://db.example/mucast", "s3://bucket"];
  assert.equal(dataLine(folder), "Its data folder is /srv/mucast\n");
  assert.equal(dataLine({ ...folder, blob_url }), "Its data folder is /srv/mucast\n");
  assert.equal(dataLine({ ...folder, database_url }), "Its data folder is /srv/mucast\n");
  assert.equal(dataLine({ ...folder, database_url, blob_url }), "");
});
