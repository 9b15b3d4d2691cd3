import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DEFAULT_BLOB_LIMITS } from "../../contract/blob-limits.ts";
import { BlockStore } from "../block-store.ts";
import { sourceOf } from "../chunks.testing.ts";
import { BlobNames, ColumnRoles } from "../column-names.ts";
import { ByteWindow } from "../json/byte-window.ts";
import { Doubles } from "../json/doubles.ts";
import { JsonReader } from "../json/json-reader.ts";
import type { Reading } from "../reading.ts";
import { RowTable } from "./row-table.ts";

class CountingStore extends BlockStore {
  blocks = 0;

  override append(values: Float64Array) {
    this.blocks++;
    return super.append(values);
  }
}

function readingWith(store: BlockStore): Reading {
  return {
    kind: "features",
    source: "f.json",
    json: new JsonReader(new ByteWindow(sourceOf([], "f.json"))),
    store,
    roles: new ColumnRoles("features"),
    limits: DEFAULT_BLOB_LIMITS,
    maxTableValues: undefined,
    names: new BlobNames(DEFAULT_BLOB_LIMITS),
    tickers: new Set(),
    buffer: new Doubles(),
  };
}

describe("a table that is filled row by row", () => {
  it("stays in few pieces if every row adds a column, and loses none of them", () => {
    const store = new CountingStore("/nowhere");
    const table = new RowTable(readingWith(store));
    const rows = 1_000;
    for (let row = 0; row < rows; row++) {
      table.begin(row, 0);
      table.put(`c${row}`, row);
      if (row > 0) table.put("c0", -row);
      table.end();
      if (row % 100 === 0) table.spill();
    }
    table.spill();
    const { values, columns } = table.finish("A");

    assert.ok(store.blocks < 60, `${store.blocks} pieces`);
    assert.equal(columns.length, rows);
    for (let column = 1; column < rows; column++) {
      const present = values
        .subarray(column * rows, (column + 1) * rows)
        .filter((value) => !Number.isNaN(value));
      assert.deepEqual([...present], [column]);
    }
    assert.deepEqual(
      [...values.subarray(0, rows)],
      Array.from({ length: rows }, (_, row) => 0 - row),
    );
  });
});
