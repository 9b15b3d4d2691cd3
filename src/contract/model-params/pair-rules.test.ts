import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MucastError } from "../errors/errors.ts";
import { rawNumbers } from "../json/json-text.ts";
import { parametersOf } from "./catalogue.ts";
import { findModel } from "./models.ts";
import { resolveModelParams } from "./resolve.ts";

/** The single fault of lightgbm's arguments; undefined if they are accepted. */
function fault(text: string): string | undefined {
  try {
    resolveModelParams({ model: findModel("lightgbm"), rawParams: rawNumbers(text), path: "params" });
    return undefined;
  } catch (error) {
    if (!(error instanceof MucastError)) throw error;
    assert.equal(error.code, "invalid_model_params");
    assert.equal(error.data.faults?.length, 1, error.message);
    return error.message;
  }
}

const namesOf = (own: string) => [own, ...parametersOf("lightgbm").byName.get(own)!.aliases];

describe("a monotone constraint of lightgbm on a column of categories", () => {
  const signs = ["[0,0,1]", "[0,0,-1]", '"0,0,1"', '"0,0,-1.0"', "[0, 0, 1.0]", "[0,0,1e0]"];
  const categories = ["[2]", "2", '"2"', '"0,2"', "[0,2]", '"02"', "[2,2]"];

  for (const sign of signs) {
    it(`is refused as ${sign}, however the columns are written`, () => {
      for (const columns of categories) {
        const message = fault(`{"monotone_constraints": ${sign}, "categorical_feature": ${columns}}`);
        assert.match(
          message ?? "",
          /^params\.monotone_constraints: constrains column 2, which params\.categorical_feature names: .*give 0 there/,
        );
      }
    });
  }

  it("is refused under any name of either parameter, whichever comes first", () => {
    for (const one of namesOf("monotone_constraints")) {
      for (const other of namesOf("categorical_feature")) {
        const expected = `params.${one}: constrains columns 0, 2, which params.${other} names`;
        assert.ok(fault(`{"${one}": [1,0,-1], "${other}": [0,1,2]}`)?.startsWith(expected));
        assert.ok(fault(`{"${other}": "0,1,2", "${one}": "1,0,-1"}`)?.startsWith(expected));
      }
    }
  });

  it("is accepted on other columns", () => {
    for (const columns of ["[1]", "1", '"1"', "[]", '""', "null"]) {
      assert.equal(fault(`{"mc": [1,0,-1], "categorical_feature": ${columns}}`), undefined);
      assert.equal(fault(`{"mc": "1,-0,-1", "categorical_feature": ${columns}}`), undefined);
    }
    assert.equal(fault('{"mc": [0,0,0], "categorical_feature": [0,1,2]}'), undefined);
  });
});

describe("lightgbm's advanced constraints without constraints", () => {
  it("are refused beside columns of categories", () => {
    for (const none of ["", '"monotone_constraints": [],', '"mc": "",', '"mc": null,']) {
      for (const method of namesOf("monotone_constraints_method")) {
        const message = fault(`{${none} "${method}": "advanced", "cat_feature": 1}`);
        assert.match(
          message ?? "",
          new RegExp(
            `^params\\.${method}: "advanced" needs monotone_constraints beside params\\.cat_feature`,
          ),
        );
      }
    }
  });

  it("are accepted without such columns, and with a constraint for every column", () => {
    const method = '"monotone_constraints_method": "advanced"';
    for (const others of ['"cat_feature": []', '"cat_feature": ""', '"n_estimators": 2']) {
      assert.equal(fault(`{${method}, ${others}}`), undefined);
    }
    assert.equal(fault(`{${method}, "cat_feature": [1], "mc": [1,0]}`), undefined);
    assert.equal(fault(`{${method}, "cat_feature": [1], "mc": "0,0"}`), undefined);
    assert.equal(
      fault('{"monotone_constraints_method": "intermediate", "cat_feature": [1], "mc": []}'),
      undefined,
    );
  });
});
