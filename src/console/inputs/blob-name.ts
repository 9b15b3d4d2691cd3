/** How the service names the inputs of jobs. */
export const INPUT_NAME = /^(feature_engine|data_extractor)_([A-Za-z0-9_-]{1,64})\.(json|parquet)$/;

/** The parts of an input's name; undefined for any other name. */
export function inputName(name: string) {
  const [, kind, id, format] = INPUT_NAME.exec(name) ?? [];
  return kind === undefined ? undefined : { kind, id: id!, format: format! };
}

/** A valid name for a file: its own name if it follows the rule, otherwise the closest one that does. */
export function suggestedName(file: string): string {
  const format = /\.parquet(?:\.gz)?$/i.test(file) ? "parquet" : "json";
  const bare = file.replace(/\.gz$/i, "").replace(/\.[A-Za-z0-9]{1,7}$/, "");
  if (INPUT_NAME.test(`${bare}.${format}`)) return `${bare}.${format}`;
  const kind = /price|extract/i.test(bare) && !/feature/i.test(bare) ? "data_extractor" : "feature_engine";
  return `${kind}_${suggestedId(bare)}.${format}`;
}

/** The closest valid id to the name of a file without its extension. */
export function suggestedId(bare: string): string {
  const id = bare
    .replace(/^(?:feature_engine|data_extractor)_/, "")
    .replaceAll(/[^A-Za-z0-9_-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 64);
  return id === "" ? "upload" : id;
}
