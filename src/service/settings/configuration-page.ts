import { readFileSync } from "node:fs";
import { z } from "zod";
import { settingNames, settingsSchema } from "../../contract/settings.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** docs/configuration.md with a current table: every setting with its names, default and limits. */
export function configurationPage(): string {
  const { properties = {} } = z.toJSONSchema(settingsSchema, { io: "input" });
  const rows = Object.entries(settingsSchema.shape).map(([key, field]) => {
    const { flag, env } = settingNames.get(field) ?? {};
    const names = [key, flag, env].map((name) => (name === undefined ? "" : `\`${name}\``));
    const property = properties[key] as JsonSchema;
    const cells = [...names, defaultText(property), limits(property), property.description ?? ""];
    return `| ${cells.join(" | ")} |\n`;
  });
  const page = readFileSync("docs/configuration.md", "utf8");
  return page.replace(/(?<=\n(\|---){6}\|\n)(\|.*\n)*/, () => rows.join(""));
}

function defaultText({ shownDefault, default: value }: JsonSchema): string {
  if (shownDefault !== undefined) return String(shownDefault);
  if (value === undefined) return "";
  return Array.isArray(value) ? value.join(", ") || "none" : `\`${value}\``;
}

function limits({ type, enum: names, minimum, maximum }: JsonSchema): string {
  if (names !== undefined) return names.map((name) => `\`${name}\``).join(", ");
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
  return type === "array" ? "list" : "text";
}
