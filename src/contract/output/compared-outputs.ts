/** Maximum number of outputs in one report: more are not readable side by side. */
export const MAX_COMPARED_OUTPUTS = 8;
