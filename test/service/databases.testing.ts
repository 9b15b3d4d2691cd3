/** The two databases of the service, for tests that must pass on both. */
import { type Postgres, startPostgres } from "../servers/postgres.testing.ts";

export interface DatabaseChoice {
  readonly name: "SQLite" | "PostgreSQL";
  /** Before the tests of a suite. */
  begin(): Promise<void>;
  /** @returns the environment of a service with a new, empty database. */
  env(): Promise<Readonly<Record<string, string>>>;
  end(): Promise<void>;
}

const nothing = async () => undefined;

export const SQLITE: DatabaseChoice = { name: "SQLite", begin: nothing, env: async () => ({}), end: nothing };

function postgresChoice(): DatabaseChoice {
  let postgres: Postgres | undefined;
  return {
    name: "PostgreSQL",
    begin: async () => {
      postgres = await startPostgres();
    },
    env: async () => ({ DATABASE_URL: await postgres!.newDatabase() }),
    end: async () => postgres?.stop(),
  };
}

export const DATABASES: readonly DatabaseChoice[] = [SQLITE, postgresChoice()];
