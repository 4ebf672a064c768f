import { Database } from '../../../src/db/database.ts';
import { SecretBox } from '../../../src/db/secret-box.ts';

export interface NamedQuery {
  name?: string;
  values?: unknown[];
}

/** The service's own `Database`, with its judgement of errors, on something that answers statements by their names. */
export function databaseOn(query: (query: NamedQuery) => Promise<{ rows: object[] }>): Database {
  const run = async (statement: NamedQuery) => (await query(statement)).rows;
  const members = { run, log: { warn: () => undefined }, box: new SecretBox() };
  return Object.assign(Object.create(Database.prototype) as Database, members);
}
