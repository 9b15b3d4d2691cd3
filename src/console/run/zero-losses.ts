import type { ViewContext } from "../view.ts";
import { memberName } from "./training-curves.ts";

/** A larger output is not read for one line of a chart. */
const MAX_OUTPUT_BYTES = 32e6;

/** The validation loss of the zero forecast, by the name of a network in its curves. */
export type ZeroLosses = ReadonlyMap<string, number>;

/** The zero losses of an output of networks; none if it is large. @throws MucastApiError, SyntaxError. */
export async function readZeroLosses(
  outputName: string,
  { client, signal }: Pick<ViewContext, "client" | "signal">,
): Promise<ZeroLosses> {
  const response = await client.getBlob(outputName, { signal });
  const size = Number(response.headers.get("content-length") ?? Number.POSITIVE_INFINITY);
  if (size <= MAX_OUTPUT_BYTES) return zeroLossesIn(await response.json());
  await response.body?.cancel();
  return new Map();
}

interface NetworksOutput {
  readonly training?: Readonly<Record<string, Trained>>;
  readonly refits?: object;
}

interface Trained {
  readonly zero_validation_loss?: number;
  readonly members?: readonly { readonly member: number; readonly zero_validation_loss: number }[];
}

/** Empty with refits, whose events are of the first block and whose output is of the last, and for outputs of older versions. */
export function zeroLossesIn(output: unknown): ZeroLosses {
  const { training = {}, refits } = output as NetworksOutput;
  if (refits !== undefined) return new Map();
  return new Map(
    Object.entries(training).flatMap(([name, { zero_validation_loss: own, members = [] }]) => {
      const first = members.length === 0 ? name : memberName(name, 0);
      return [
        ...(own === undefined ? [] : [[first, own] as const]),
        ...members.map((each) => [memberName(name, each.member), each.zero_validation_loss] as const),
      ];
    }),
  );
}
