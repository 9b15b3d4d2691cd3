import { readFileSync } from "node:fs";
import { z } from "zod";
import { settingNames, settingsSchema } from "../../contract/settings.ts";

/** docs/configuration.md with a current table: every setting with its names, default and limits. */
export function configurationPage(): string {
  const { properties } = z.toJSONSchema(settingsSchema, { io: "input" }) as {
    properties: Record<string, JsonProperty>;
  };
  const rows = Object.entries(settingsSchema.shape).map(([key, field]) => {
    const { flag, env } = settingNames.get(field) ?? {};
    const property = properties[key]!;
    const cells = [code(key), code(flag), code(env), defaultText(property), limits(property)];
    return `| ${cells.join(" | ")} | ${property.description ?? ""} |\n`;
  });
  const page = readFileSync("docs/configuration.md", "utf8");
  return page.replace(/(?<=\n(\|---){6}\|\n)(\|.*\n)*/, () => rows.join(""));
}

interface JsonProperty {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly shownDefault?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
}

function code(text: string | undefined): string {
  return text === undefined ? "" : `\`${text}\``;
}

function defaultText(property: JsonProperty): string {
  if (property.shownDefault !== undefined) return property.shownDefault;
  if (property.default === undefined) return "";
  if (Array.isArray(property.default))
    return property.default.length === 0 ? "none" : property.default.join(", ");
  return `\`${property.default}\``;
}

function limits({ type, enum: names, minimum, maximum }: JsonProperty): string {
  if (names !== undefined) return names.map((name) => `\`${name}\``).join(", ");
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
  return type === "array" ? "list" : "text";
}
