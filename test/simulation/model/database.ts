import { Cipher } from '../../../src/db/connection/cipher.ts';
import { Database } from '../../../src/db/connection/database.ts';
import { FairTurns } from '../../../src/db/connection/fair-turns.ts';
import { FullDisk } from '../../../src/db/connection/full-disk.ts';

export interface NamedQuery {
  name?: string;
  values?: unknown[];
}

/** The service's own `Database`, with its classification of errors, on a model that runs statements by their names. */
export function databaseOn(query: (query: NamedQuery) => Promise<{ rows: object[] }>): Database {
  const run = async (statement: NamedQuery) => (await query(statement)).rows;
  // No statement waits for a connection: the sequences do not test the order of statements at a connection.
  const changingTurns = new FairTurns({ atOnce: 1e6, atOnceOfOne: 1e6, waiting: 0, waitingOfOne: 0, maxWaitMs: 0 });
  const connections = {
    run: (statement: NamedQuery, { assertMaySend }: { assertMaySend?: () => void } = {}) => {
      assertMaySend?.();
      return run(statement);
    },
  };
  const log = { warn: () => undefined };
  const members = { run, connections, changingTurns, log, cipher: new Cipher(), fullDisk: new FullDisk(log) };
  return Object.assign(Object.create(Database.prototype) as Database, members);
}
