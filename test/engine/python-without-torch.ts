import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findEnvironment } from "../../src/engine/environment/environment.ts";

/** The path of an interpreter, created in `folder`, that has every classical library but not torch. */
export function pythonWithoutTorch(folder: string): string {
  const hiding = join(folder, "hiding");
  mkdirSync(hiding, { recursive: true });
  writeFileSync(join(hiding, "torch.py"), `raise ImportError("No module named 'torch'")\n`);
  const path = join(folder, "python-without-torch");
  const { python } = findEnvironment("ml");
  writeFileSync(path, `#!/bin/sh\nPYTHONPATH="$PYTHONPATH:${hiding}" exec "${python}" "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}
