/** What both jobs take. */
export interface JobPayload {
  readonly feature_url: string;
  readonly data_extractor_url: string;
  /**
   * The config, or its JSON text, which is sent unchanged: `1.0` stays `1.0`, which is not the same as `1` to every
   * regressor, and integers beyond 2^53 stay exact.
   */
  readonly config: object | string;
}

/** The JSON text of a payload. @throws SyntaxError where the text of its config is not JSON. */
export function payloadText(payload: JobPayload | string): string {
  if (typeof payload === "string") return payload;
  const { config, ...urls } = payload;
  if (typeof config !== "string") return JSON.stringify({ ...urls, config });
  JSON.parse(config);
  const members = Object.entries(urls).map(
    ([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`,
  );
  return `{${[...members, `"config":${config}`].join(",")}}`;
}
