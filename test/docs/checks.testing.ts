/** How each code block of the docs is checked; a block has one entry, which names its start. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { blobPageSchema, preparedBlobsSchema } from "../../src/contract/api/prepared-blobs.ts";
import { parseDlSettings } from "../../src/contract/config/dl-settings.ts";
import { parseMlSettings } from "../../src/contract/config/ml-settings.ts";
import { auditBlobSchema } from "../../src/contract/output/audit-blob.ts";
import { resultRecordSchema } from "../../src/contract/output/result-record.ts";
import { settingsSchema } from "../../src/contract/settings.ts";

export type Check =
  /** Output, or a figure. */
  | { readonly by: "eye" }
  | { readonly by: "json"; readonly read: (text: string) => unknown }
  /** sh that cannot be run here. */
  | { readonly by: "syntax" }
  /** Python: compiled, and saved if sh of the page runs it by its name. */
  | { readonly by: "python"; readonly file?: string }
  /** The service that all of them run against. */
  | { readonly by: "service" }
  /** sh, run unchanged after the blocks before it; the output that the page shows is compared. */
  | { readonly by: "shell"; readonly folder?: string; readonly files?: () => Record<string, string> }
  /** A program: compiled, and saved if sh of the page runs it by its name. `before` stands for the reader's own code. */
  | { readonly by: "program"; readonly file: string; readonly before?: string };

const EYE = { by: "eye" } as const;
const SYNTAX = { by: "syntax" } as const;
const SERVICE = { by: "service" } as const;
const PYTHON = { by: "python" } as const;
const SHELL = { by: "shell" } as const;
const EXAMPLE = { by: "shell", folder: "examples/sp500-30" } as const;

function json(read: (text: string) => unknown): Check {
  return { by: "json", read };
}

/** Another test reads it: src/ingest/blob-docs.test.ts. */
const BLOB = json(JSON.parse);
const PLAIN = json(JSON.parse);
const ML = json(parseMlSettings);
const DL = json(parseDlSettings);
const RECORD = json((text) => resultRecordSchema.parse(JSON.parse(text)));
const SETTINGS = json((text) => settingsSchema.parse(JSON.parse(text)));

/** Sections of `ML params`, one per line. */
const ML_LINES = json((text) => {
  for (const line of text.trim().split("\n")) parseMlSettings(`{"ML params": ${line}}`);
});

const SIGNED_REQUEST = `
  import { Webhook as Sender } from "standardwebhooks";
  const secret = "whsec_dHdlbnR5LWZvdXIgYnl0ZXMsIG9yIG1vcmU=";
  const sent = JSON.stringify({ type: "mucast.operation.succeeded" });
  const headers = {
    "webhook-id": "1",
    "webhook-timestamp": String(Math.floor(Date.now() / 1_000)),
    "webhook-signature": new Sender(secret).sign("1", new Date(), sent),
  };
  const request = new Request("https://optimizer.example.com/hooks", { method: "POST", body: sent, headers });
`;

const FINISHED = `
  import { MucastClient } from "mucast/client";
  const client = new MucastClient({ baseUrl: "http://127.0.0.1:8080" });
  const payload = {
    feature_url: "http://127.0.0.1:8080/data/feature_engine_sp500.parquet",
    data_extractor_url: "http://127.0.0.1:8080/data/data_extractor_sp500.parquet",
    config: { "ML params": { model: "ridge", n_splits: 2, cv_test_size: 3 } },
  };
  const operation = await client.runAndWait("run_ml_job", payload);
`;

const FOLLOWED = `
  import { MucastClient } from "mucast/client";
  const client = new MucastClient({ baseUrl: "http://127.0.0.1:8080" });
  const { operations } = await client.listOperations({ limit: 1 });
  const id = operations.map((operation) => operation.id).join();
  const draw = console.log;
`;

/** Dates and 30 tickers of the demo. */
const OWN_PRICES: Check = {
  by: "shell",
  files: () => {
    const lines = gunzipSync(readFileSync("examples/sp500-200/prices.csv.gz")).toString().split("\n");
    return { "prices.csv": lines.map((line) => line.split(",", 31).join(",")).join("\n") };
  },
};

function python(file: string): Check {
  return { by: "python", file };
}

function program(file: string, before = ""): Check {
  return { by: "program", file, before };
}

type Entry = readonly [page: string, begins: string, check: Check];

export const CHECKS: readonly Entry[] = [
  ["README.md", "npm run demo", SYNTAX],
  ["README.md", "                                 pooled-lightgbm", EYE],
  ["README.md", "npm run --silent mucast -- forecast", OWN_PRICES],
  ["docs/architecture.md", "cli ──>", EYE],
  ["docs/backup.md", "sudo -u mucast mucast db backup", SYNTAX],
  ["docs/backup.md", "sudo systemctl stop mucast", SYNTAX],
  ["docs/backup.md", "pg_dump", SYNTAX],
  ["docs/backup.md", "kubectl", SYNTAX],
  ["docs/backup.md", "mucast db orphans", SYNTAX],
  ["docs/blobs.md", '{ "start":', BLOB],
  ["docs/blobs.md", '{ "dates":', BLOB],
  ["docs/blobs.md", '[{ "ticker":', BLOB],
  ["docs/blobs.md", '{ "AAPL": [{ "date":', BLOB],
  ["docs/blobs.md", '{ "AAPL": { "2020-01-02":', BLOB],
  ["docs/blobs.md", '{ "AAPL": { "mom_5":', BLOB],
  ["docs/blobs.md", '{ "AAPL": { "columns":', BLOB],
  ["docs/blobs.md", '{ "columns":', BLOB],
  ["docs/blobs.md", '{ "AAPL": { "dates":', BLOB],
  ["docs/blobs.md", "features.to_parquet(", EYE],
  ["docs/blobs.md", "feature_engine_7.json: AAPL", EYE],
  ["docs/choice.md", '{\n  "ML params"', ML],
  ["docs/choice.md", '{\n  "NN params"', DL],
  ["docs/choice.md", "mucast choose", SYNTAX],
  ["docs/every-day.md", "#!/bin/sh", SYNTAX],
  ["docs/every-day.md", "30 22", EYE],
  ["docs/every-day.md", "from pathlib import Path", PYTHON],
  ["docs/client.md", "import { readFile }", program("forecast.mjs")],
  ["docs/client.md", "npm run --silent node -- forecast.mjs", SHELL],
  ["docs/client.md", 'import { MucastClient } from "mucast/client";', program("follow.mjs")],
  ["docs/client.md", "npm run --silent node -- follow.mjs", SHELL],
  ["docs/client.md", "const replayed = await", program("proofs.mjs", FINISHED)],
  ["docs/client.md", "for await (const event of client.events(id))", program("curves.mjs", FOLLOWED)],
  ["docs/client.md", "import { MucastApiError, MucastClient }", program("refused.mjs")],
  ["docs/client.md", "npm run --silent node -- refused.mjs", SHELL],
  ["docs/cluster.md", "npm install --global", SYNTAX],
  ["docs/cluster.md", "umask 077", SYNTAX],
  ["docs/cluster.md", "export RAY_AUTH_MODE", SYNTAX],
  ["docs/cluster.md", "export RAY_AUTH_TOKEN_PATH", SYNTAX],
  ["docs/cluster.md", "docker run", SYNTAX],
  ["docs/cluster.md", "openssl req -x509", SYNTAX],
  ["docs/cluster.md", "export RAY_USE_TLS", SYNTAX],
  ["docs/cluster.md", "docker build", SYNTAX],
  ["docs/cluster.md", "- name: MUCAST_ENGINE_URL", EYE],
  ["docs/config.md", '{\n  "ML params"', ML],
  ["docs/config.md", '{\n  "NN params"', DL],
  ["docs/configuration.md", '{\n  "port"', SETTINGS],
  ["docs/deploying.md", "docker build", SYNTAX],
  ["docs/deploying.md", "docker run", SYNTAX],
  ["docs/deploying.md", "az group create", SYNTAX],
  ["docs/deploying.md", "kubectl create", SYNTAX],
  ["docs/deploying.md", "images:\n  - name", EYE],
  ["docs/deploying.md", "python3 -m venv", SYNTAX],
  ["docs/deploying.md", "sudo -u mucast mucast db status", SYNTAX],
  ["docs/deploying.md", "npm pack && sudo", SYNTAX],
  ["docs/deploying.md", "MUCAST_SITE=", SYNTAX],
  ["docs/engine.md", "mucast (node) ── stdin/stdout, one message a line ── host", EYE],
  ["docs/engine.md", "mucast (node) ── stdin/stdout, one message a line ── gateway", EYE],
  ["docs/engine.md", "service ──", EYE],
  ["docs/http.md", '{ "blobs":', json((text) => blobPageSchema.parse(JSON.parse(text)))],
  ["docs/http.md", '{ "id":', json((text) => preparedBlobsSchema.parse(JSON.parse(text)))],
  ["docs/http.md", "id: 3\n", EYE],
  ["docs/http.md", 'data: {"seq":9', EYE],
  ["docs/mcp.md", '{\n  "mcpServers": {\n    "mucast": {\n', PLAIN],
  ["docs/mcp.md", '{\n  "mcpServers": {\n    "mucast": { "command"', PLAIN],
  ["docs/mcp.md", "→ {", EYE],
  ["docs/model-params.md", '{ "ML params"', ML],
  ["docs/model-params.md", "config.ML params.model_params", EYE],
  ["docs/model-params.md", '{ "model": "rf"', ML_LINES],
  ["docs/networks.md", '{ "NN params": { "Dot prediction": { "current option": "lstm"', DL],
  ["docs/networks.md", '{ "NN params": { "Dot prediction": { "current option": "portfolio_lstm"', DL],
  ["docs/networks.md", '{\n  "NN params"', DL],
  ["docs/observability.md", '{"level"', PLAIN],
  ["docs/observability.md", "POST /v1/run_ml_job", EYE],
  ["docs/output.md", '{ "status"', RECORD],
  ["docs/audit.md", "mucast prepare", SYNTAX],
  ["docs/audit.md", "truncation: 6", EYE],
  ["docs/audit.md", "{", json((text) => auditBlobSchema.parse(JSON.parse(text)))],
  ["docs/replay.md", "mucast replay", SYNTAX],
  ["docs/replay.md", "ml_engine_42.json: identical", EYE],
  ["docs/replay.md", "sed -E", SYNTAX],
  // Another test runs it: test/portfolio.release.test.ts.
  ["docs/portfolio.md", "/** Prints what an optimizer", EYE],
  ["docs/portfolio.md", "import json", PYTHON],
  ["docs/portfolio.md", "mucast export", SYNTAX],
  ["docs/portfolio.md", "python3 -m venv", SYNTAX],
  ["docs/portfolio.md", "20 tickers as of", EYE],
  ["docs/python.md", "pip install", SYNTAX],
  ["docs/python.md", "import pandas as pd\nfrom mucast_client", python("forecast.py")],
  ["docs/python.md", "python forecast.py", SHELL],
  ["docs/python.md", "from pathlib import Path\nfrom mucast_client import Client", python("sweep.py")],
  ["docs/python.md", "python sweep.py", SHELL],
  ["docs/python.md", "from pathlib import Path\nfrom mucast_client import ApiError", python("refused.py")],
  ["docs/python.md", "python refused.py", SHELL],
  ["docs/report.md", "mucast report", SYNTAX],
  ["docs/releasing.md", "npm run release -- check", SYNTAX],
  ["docs/releasing.md", "cosign verify-blob", SYNTAX],
  ["docs/tracking.md", "export MLFLOW_TRACKING_URI", SYNTAX],
  ["docs/tracking.md", '{"mlflow"', PLAIN],
  ["docs/semantics.md", " close of day", EYE],
  ["docs/semantics.md", "                                        L = ", EYE],
  ["docs/semantics.md", " price ", EYE],
  ["docs/semantics.md", " n = 45", EYE],
  ["docs/semantics.md", " rows ", EYE],
  ["docs/walkthrough.md", "npm run --silent mucast -- serve", SERVICE],
  ["docs/walkthrough.md", "curl -T data", EXAMPLE],
  ["docs/walkthrough.md", "curl -i -H", EXAMPLE],
  ["docs/walkthrough.md", "curl -N", EXAMPLE],
  ["docs/walkthrough.md", "curl http://127.0.0.1:8080/v1/operations/32ba7cd3", EXAMPLE],
  ["docs/walkthrough.md", "curl -s --fail -o report.html", EXAMPLE],
  ["docs/walkthrough.md", "curl -H 'Content-Type", EXAMPLE],
  [
    "docs/walkthrough.md",
    "curl -H 'Prefer: wait=60' -H 'Content-Type: application/json' http://127.0.0.1:8080/v1/replay",
    EXAMPLE,
  ],
  ["docs/walkthrough.md", "curl http://127.0.0.1:8080/v1/operations/1ed30d57", EXAMPLE],
  [
    "docs/walkthrough.md",
    "curl -H 'Prefer: wait=60' -H 'Content-Type: application/json' http://127.0.0.1:8080/v1/audit",
    EXAMPLE,
  ],
  ["docs/walkthrough.md", "curl http://127.0.0.1:8080/v1/operations/117e0508", EXAMPLE],
  ["docs/walkthrough.md", "import { Client, Streamable", program("agent.ts")],
  ["docs/walkthrough.md", "npm run --silent node -- agent.ts", SHELL],
  ["docs/webhooks.md", '{\n  "webhooks"', SETTINGS],
  ["docs/webhooks.md", "content-type: application/cloudevents+json", EYE],
  ["docs/webhooks.md", "import { Webhook }", program("verify.mjs", SIGNED_REQUEST)],
  ["docs/webhooks.md", "from standardwebhooks", PYTHON],
];
