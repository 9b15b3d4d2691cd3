/** The name of a CSV in its folder, which errors show. */
export const CSV_NAME = "prices.csv";
