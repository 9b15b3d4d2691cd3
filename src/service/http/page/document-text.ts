import { ERROR_TABLE } from "../../../contract/errors/error-codes.ts";
import { counted } from "../../../contract/errors/wording.ts";
import { type LimitUnit, type Settings, settingNames, settingsSchema } from "../../../contract/settings.ts";

/** Every error code, in Markdown. */
export function errorTable(): string {
  const rows = Object.entries(ERROR_TABLE).map(([code, { status, title, advice }]) => [
    `\`${code}\``,
    String(status),
    title,
    advice,
  ]);
  return section(
    "Errors",
    `If a job fails, the operation's \`error\` holds the problem, and requests for the operation still return 200.

${table(["code", "status", "title", "what to do"], rows)}`,
  );
}

const IN_UNIT: Readonly<Record<LimitUnit, (value: number) => string>> = {
  bytes: (value) => counted(value, "byte"),
  seconds: (value) => `${value} s`,
  days: (value) => counted(value, "day"),
  count: String,
};

/** The settings of a service that are marked as limits, in their order, in Markdown. */
export function limitTable(settings: Settings): string {
  const rows = Object.entries(settingsSchema.shape).flatMap(([key, field]) => {
    const unit = settingNames.get(field)?.limit;
    if (unit === undefined) return [];
    return [[`\`${key}\``, IN_UNIT[unit](settings[key as keyof Settings] as number), field.description!]];
  });
  return section("Limits of this service", table(["setting", "value", "description"], rows));
}

/** A part of the document's description that a reader opens: HTML, as Markdown allows. The blank lines make the inside Markdown again. */
export function section(title: string, text: string): string {
  return `<details>\n<summary>${title}</summary>\n\n${text}\n\n</details>`;
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, headings.map(() => "---"), ...rows];
  return lines
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");
}
