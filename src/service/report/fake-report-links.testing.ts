import { randomBytes } from "node:crypto";
import type { Caller } from "../auth/caller.ts";
import { noLink, type OpenedLink, type ReportLinks } from "./reports.ts";

/** A fake: links in memory, which do not end by themselves. */
export class FakeReportLinks implements Pick<ReportLinks, keyof ReportLinks> {
  readonly #links = new Map<string, OpenedLink>();

  async create({ subject }: Pick<Caller, "subject">, operationIds: readonly string[]) {
    const token = randomBytes(32).toString("base64url");
    this.#links.set(token, { caller: { subject, scopes: new Set(["read"]) }, operationIds });
    return { token, expiresAt: new Date(Date.now() + 60_000) };
  }

  async find(token: string): Promise<OpenedLink> {
    const link = this.#links.get(token);
    if (link === undefined) throw noLink();
    return link;
  }

  async take(token: string) {
    const link = await this.find(token);
    this.#links.delete(token);
    return { ...link, restore: async () => void this.#links.set(token, link) };
  }
}
