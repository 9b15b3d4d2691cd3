import { level, type Mark, pair } from "../../view/chart.ts";
import { countedRows, figure, wholePercent } from "../../view/figures.ts";
import { numbers } from "../../view/table.ts";
import { whyNoLabels } from "../evidence/output-evidence.ts";
import { absent, panelSection } from "../section.ts";
import { type CalibrationBin, calibration } from "../statistics/calibration.ts";

const BINS = 10;
const BAND = `${wholePercent(95)} band`;

export const sizesSection = panelSection({
  id: "sizes",
  title: "Sizes",
  isByRows: true,
  needsReturns: true,
  panels: ({ common }) => {
    if (common.dateCount === 0) return absent("Sizes", whyNoLabels(common));
    const bins = calibration(common.byDate, BINS);
    const { predicted } = common.byDate;
    const areEqual = predicted.every((each) => each === predicted[0]);
    const forecasts = common.judgedRows === "score" ? "published forecasts" : "forecasts";
    return [
      {
        title: "Calibration",
        isWide: true,
        sentence: sentenceOf(bins, forecasts, areEqual),
        chart: {
          x: { unit: "return", within: [0] },
          y: { unit: "return", within: [0] },
          marks: marksOf(bins),
          height: 200,
        },
        numbers: numbers({
          name: "calibration",
          rows: bins,
          columns: [
            ["Bin", "text", (_, i) => String(i + 1)],
            ["Rows", "count", ({ n }) => n],
            ["Forecast", "return", ({ predicted }) => predicted],
            ["Realised", "return", ({ realised }) => realised],
            [BAND, "band", "return", ({ band }) => band],
          ],
        }),
      },
    ];
  },
});

function sentenceOf(bins: readonly CalibrationBin[], forecasts: string, areEqual: boolean): string {
  const [low, high] = [bins[0]!, bins.at(-1)!];
  if (bins.length === 1)
    return `${areEqual ? `All ${forecasts} are` : `Most ${forecasts} are equal; the mean of all is`} ${figure(low.predicted, "return")}; the mean return was ${figure(low.realised, "return")}.`;
  const [predicted, realised] = [high.predicted - low.predicted, high.realised - low.realised];
  const rose = `From the lowest bin to the highest, ${forecasts} rise by ${figure(predicted, "return")} and returns by ${figure(realised, "return")}, ${figure(realised / predicted, "ratio")} times as much`;
  const banded = bins.filter(({ band }) => band !== null);
  if (banded.length === 0) return `${rose}.`;
  const fitting = banded.filter(({ band, predicted: at }) => band!.low <= at && at <= band!.high);
  return `${rose}. In ${fitting.length} of ${countedRows(banded.length, "bin")}, the ${BAND} of the return contains the forecast.`;
}

/** Realised returns by forecast, both log-returns, with the line where they are equal. */
function marksOf(bins: readonly CalibrationBin[]): Mark[] {
  const [low, high] = [Math.min(0, bins[0]!.predicted), Math.max(0, bins.at(-1)!.predicted)];
  return [
    {
      ...level(0, "perfectly sized forecasts"),
      points: pair(low, low, high, high),
    },
    {
      kind: "whisker",
      shape: "segments",
      meaning: `${BAND} of the return`,
      points: bins.flatMap(({ predicted, band }) =>
        band === null ? [] : pair(predicted, band.low, predicted, band.high),
      ),
    },
    {
      kind: "dot",
      shape: "dots",
      meaning: "mean realised return (vertical) by mean forecast (horizontal)",
      points: bins.map(({ predicted, realised }) => [predicted, realised] as const),
    },
  ];
}
