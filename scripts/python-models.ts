/** The module of the Python client with the types of the service's answers, made from the OpenAPI document. */

/** The part of JSON Schema that the schemas of answers use. */
interface Schema {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly const?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
}

/** The answers that the client reads; the schemas that they refer to come with them. */
const ANSWERS = [
  "Operation",
  "OperationPage",
  "Event",
  "Snapshot",
  "OutputBlob",
  "VerdictView",
  "UploadedBlob",
  "PreparedBlobs",
  "JobPreview",
  "BlobPage",
  "Problem",
] as const;

const HEAD = `"""Types of the service's answers, as dictionaries. Generated from schemas/openapi.json; do not edit.

Later versions of the service may add members, codes and types of events.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict
`;

const SCALARS: Readonly<Record<string, string>> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
  null: "None",
};

/** @param schemas the components of the document, by name. @throws Error for a schema that it cannot translate. */
export function pythonModels(schemas: Readonly<Record<string, unknown>>): string {
  const module = new Module(schemas as Readonly<Record<string, Schema>>);
  for (const name of ANSWERS) module.define(name);
  return `${HEAD}${module.text}`;
}

/** Collects definitions, each after those that it uses: aliases are evaluated when the module is imported. */
class Module {
  readonly #schemas: Readonly<Record<string, Schema>>;
  readonly #defined = new Set<string>();
  text = "";

  constructor(schemas: Readonly<Record<string, Schema>>) {
    this.#schemas = schemas;
  }

  define(name: string): void {
    if (this.#defined.has(name)) return;
    const schema = this.#schemas[name];
    if (schema === undefined) throw new Error(`the document has no schema ${name}`);
    this.#defined.add(name);
    if (schema.properties !== undefined) {
      this.#defineObject(name, schema);
      return;
    }
    const type = this.#typeOf(schema, name);
    this.text += `\n\n${name} = ${type}\n`;
  }

  #defineObject(name: string, { description, title, properties = {}, required = [] }: Schema): void {
    const members = Object.entries(properties).map(([member, schema]) => {
      if (!/^[a-z_]\w*$/i.test(member)) throw new Error(`${name}.${member} is no name in Python`);
      const type = this.#typeOf(schema, `${name}${pascalCase(member)}`);
      const declared = required.includes(member) ? type : `NotRequired[${type}]`;
      const text = schema.description === undefined ? "" : `\n    ${docstring(schema.description)}`;
      return `    ${member}: ${declared}${text}\n`;
    });
    const about = description ?? title;
    const head = about === undefined ? "" : `    ${docstring(about)}\n${members.length > 0 ? "\n" : ""}`;
    const body = `${head}${members.join("")}` || "    pass\n";
    this.text += `\n\nclass ${name}(TypedDict):\n${body}`;
  }

  /** @param name of the class, if the schema is an object without a name. */
  #typeOf(schema: Schema, name: string): string {
    const { $ref, anyOf, oneOf, type, items, properties, additionalProperties } = schema;
    if ($ref !== undefined) {
      const target = $ref.split("/").at(-1)!;
      this.define(target);
      return target;
    }
    if (schema.const !== undefined) return `Literal[${JSON.stringify(schema.const)}]`;
    if (schema.enum !== undefined)
      return `Literal[${schema.enum.map((name) => JSON.stringify(name)).join(", ")}]`;
    if (oneOf !== undefined) return this.#union(oneOf, name);
    if (anyOf !== undefined) return this.#union(known(anyOf), name);
    if (typeof type === "object") return type.map((one) => scalar(one, name)).join(" | ");
    if (type === "array") return `list[${this.#typeOf(items ?? {}, `${name}Item`)}]`;
    if (type === undefined) return "Any";
    if (type !== "object") return scalar(type, name);
    if (properties !== undefined && Object.keys(properties).length > 0) {
      this.#defineObject(name, schema);
      return name;
    }
    return `dict[str, ${this.#typeOf(additionalProperties ?? {}, `${name}Value`)}]`;
  }

  #union(schemas: readonly Schema[], name: string): string {
    return [...new Set(schemas.map((schema) => this.#typeOf(schema, name)))].join(" | ");
  }
}

/** Without the names of a list that may grow, and without the types of events that later versions may add. */
function known(anyOf: readonly Schema[]): readonly Schema[] {
  const [first, second] = anyOf;
  if (first?.enum !== undefined && second?.type === "string") return [second];
  return first?.oneOf === undefined ? anyOf : [first];
}

function scalar(type: string, name: string): string {
  const found = SCALARS[type];
  if (found === undefined) throw new Error(`${name} has the type ${type}, which has no translation`);
  return found;
}

function pascalCase(name: string): string {
  return name.replaceAll(/(?:^|_)([a-z0-9])/gi, (_, letter: string) => letter.toUpperCase());
}

function docstring(text: string): string {
  return `"""${text.replaceAll("\\", "\\\\").replaceAll('"', "'")}"""`;
}
