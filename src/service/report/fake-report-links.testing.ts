import { randomBytes } from "node:crypto";
import type { Caller } from "../auth/caller.ts";
import { type OpenedLink, type ReportLinks, throwNoLink } from "./reports.ts";

/** A fake: links in memory, which do not end by themselves. */
export class FakeReportLinks implements Pick<ReportLinks, keyof ReportLinks> {
  readonly #links = new Map<string, OpenedLink>();

  async create({ subject }: Pick<Caller, "subject">, operationIds: readonly string[]) {
    const token = randomBytes(32).toString("base64url");
    this.#links.set(token, { caller: { subject, scopes: new Set(["read"]) }, operationIds });
    return { token, expiresAt: new Date(Date.now() + 60_000) };
  }

  async find(token: string): Promise<OpenedLink> {
    return this.#links.get(token) ?? throwNoLink();
  }

  async use(token: string): Promise<void> {
    if (!this.#links.delete(token)) throwNoLink();
  }
}
