import type { FastifyRequest, RouteOptions } from "fastify";
import { earlyRefusal } from "../server/problem-answer.ts";

/**
 * Refuses an expectation other than `100-continue`, the only one that RFC 9110 knows.
 *
 * @throws MucastError invalid_request, with the status 417.
 */
export function checkExpect({ headers: { expect = "" } }: Pick<FastifyRequest, "headers">): void {
  const expectations = expect.split(",").map((item) => item.trim().toLowerCase());
  if (expectations.some((item) => item !== "" && item !== "100-continue")) throw earlyRefusal(417);
}

interface Pattern {
  readonly path: RegExp;
  readonly methods: Set<string>;
}

/** Which methods a path has, for what is asked with another one. */
export class RouteTable {
  readonly #patterns = new Map<string, Pattern>();

  add({ url, method }: Pick<RouteOptions, "url" | "method">): void {
    const pattern = this.#patterns.get(url) ?? { path: pathOf(url), methods: new Set() };
    for (const name of [method].flat()) pattern.methods.add(name);
    this.#patterns.set(url, pattern);
  }

  /** @returns none where there is nothing at that path. */
  methodsOf(path: string): readonly string[] {
    const found = [...this.#patterns.values()].find((pattern) => pattern.path.test(path));
    return [...(found?.methods ?? [])].sort();
  }
}

function pathOf(url: string): RegExp {
  const parts = url
    .split("/")
    .map((part) => (part.startsWith(":") ? "[^/]+" : part.replaceAll(/[.*+?^$()[\]{}|\\]/g, "\\$&")));
  return new RegExp(`^${parts.join("/")}$`);
}
