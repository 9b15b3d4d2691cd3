import { element } from "../dom.ts";
import type { View } from "../view.ts";

/** The caller's operations, newest first. */
export const showOperations: View = async (container, { client, signal }) => {
  const { operations } = await client.listOperations({ signal });
  const items = operations.map(({ id, status }) =>
    element("li", {}, element("a", { href: `#/operations/${id}` }, id), ` ${status}`),
  );
  container.append(element("ul", {}, ...items));
};
