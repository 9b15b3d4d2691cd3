/** NODE_OPTIONS of a process that throws one of our errors, with a path in its message, when it reads a config. */
export const DEFECTIVE = `--import data:text/javascript,${encodeURIComponent(
  `const own = Buffer.byteLength;
   Buffer.byteLength = (...given) => {
     if (new Error().stack.includes("parse-config")) throw new TypeError("/srv/secret/x0.npy is undefined");
     return own(...given);
   };`,
)}`;
