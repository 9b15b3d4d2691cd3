import { type Html, html, prose } from "./html.ts";

/** The members of a JSON Schema that the page shows. */
export interface PageSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly description?: string;
  readonly title?: string;
  readonly items?: PageSchema;
  readonly properties?: Readonly<Record<string, PageSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | PageSchema;
  readonly anyOf?: readonly PageSchema[];
  readonly oneOf?: readonly PageSchema[];
  readonly allOf?: readonly PageSchema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
}

/** The type of a value in a few words. Named schemas are links. */
export function typeHtml(schema: PageSchema): Html {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1)!;
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return joined(choices.map(typeHtml), " or ");
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum !== undefined)
    return joined(
      schema.enum.map((value) => html`<code>${String(value)}</code>`),
      ", ",
    );
  if (schema.type === "array") return html`list of ${typeHtml(schema.items ?? {})}`;
  const others = typeof schema.additionalProperties === "object" ? schema.additionalProperties : {};
  if (schema.type === "object" && Object.keys(others).length > 0) return html`object of ${typeHtml(others)}`;
  return html`${[schema.type ?? "any"].flat().join(" or ")}${bounds(schema)}`;
}

function joined(parts: readonly Html[], separator: string): Html {
  return html`${parts.map((part, index) => (index === 0 ? part : html`${separator}${part}`))}`;
}

function bounds({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, format }: PageSchema): string {
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  const words = [
    minimum === undefined ? undefined : `≥ ${minimum}`,
    exclusiveMinimum === undefined ? undefined : `> ${exclusiveMinimum}`,
    most === undefined ? undefined : `≤ ${most}`,
    exclusiveMaximum === undefined ? undefined : `< ${exclusiveMaximum}`,
    format,
  ].filter((word) => word !== undefined);
  return words.length === 0 ? "" : ` (${words.join(", ")})`;
}

/** A table of the members of an object and of the objects inside it. */
export function membersHtml(schema: PageSchema): Html | undefined {
  const rows = memberRows(schema, "");
  if (rows.length === 0) return undefined;
  return html`<div class="wide"><table>
<thead><tr><th>member</th><th>type</th><th>description</th></tr></thead>
<tbody>${rows}</tbody>
</table></div>`;
}

function memberRows(schema: PageSchema, prefix: string): Html[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
    html`<tr><td><code>${prefix}${name}</code>${schema.required?.includes(name) ? "" : html` <small>optional</small>`}</td>
<td>${typeHtml(member)}</td><td>${prose(member.description ?? "")}${defaultHtml(member)}</td></tr>`,
    ...memberRows(member, `${prefix}${name}.`),
  ]);
}

function defaultHtml(member: PageSchema): Html | undefined {
  const value = member.default;
  if (value === undefined || typeof value === "object") return undefined;
  return html` <small>default <code>${JSON.stringify(value)}</code></small>`;
}

/** A named schema: its members, or its variants with theirs. */
export function schemaHtml(name: string, schema: PageSchema): Html {
  const variants = (schema.oneOf ?? schema.anyOf)?.map(
    (variant) =>
      html`<h4><code>${String(variant.properties?.type?.const ?? "another")}</code></h4>${membersHtml(variant)}`,
  );
  // A browser opens <details> when a link leads to an element inside it, so the id is inside.
  return html`<details class="schema"><summary><code>${name}</code> <small>${schema.title ?? ""}</small></summary>
<div id="schema-${name}">${prose(schema.description ?? "")}${variants ?? membersHtml(schema)}</div></details>`;
}
