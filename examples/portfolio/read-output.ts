/** Prints what an optimizer needs of an output of mucast, by ticker. Usage: npm run node -- examples/portfolio/read-output.ts FILE */
import { readFileSync } from "node:fs";
import { readOutput } from "mucast/client";

const output = readOutput(JSON.parse(readFileSync(process.argv[2]!, "utf8")));
const { as_of } = output.window;
for (const [ticker, mu] of Object.entries(output.mu)) {
  // A forecast of an earlier date is no forecast of the next day.
  if ((output.mu_dates?.[ticker] ?? as_of) !== as_of) continue;
  const worth = output.metrics.shrinkage?.by_ticker[ticker]?.s ?? 0;
  const { lower, upper } = output.forecasts[ticker]!;
  console.log(JSON.stringify({ ticker, mu, shrunk: worth * mu, lower: lower.at(-1), upper: upper.at(-1) }));
}
