import type { CrossSection } from "../contract/output/metrics-schemas.ts";
import { type SetTables, setTables } from "./baselines.ts";
import { crossSection, type OnDate } from "./cross-section.ts";
import type { DatedForecasts, ForecastRows } from "./forecast-rows.ts";
import { type ForecastTable, forecastTable, tableRows } from "./forecast-table.ts";
import { sortedByDate } from "./rows-by-date.ts";

/** The table of rows' own forecasts. */
export function tableOf(rows: readonly ForecastRows[]): ForecastTable {
  return forecastTable(tableRows(rows));
}

/** Including the tables of the baselines. */
export function setTablesOf(rows: readonly ForecastRows[]): SetTables {
  return setTables(rows);
}

/** The verdict on rows' own forecasts. @param rows all labelled. */
export function crossSectionOf(rows: readonly DatedForecasts[], onDate?: OnDate): CrossSection {
  return crossSection(sortedByDate(rows), onDate);
}
