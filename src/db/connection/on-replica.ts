import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';
import { PrismaClient } from '../generated/client.ts';
import type { Database, Statement } from './database.ts';
import { clientsByAccount, type ReadingPrisma } from './prisma.ts';
import type { Replica } from './replica.ts';
import { blame } from './replica-blame.ts';
import { ReplicaFailed } from './replica-failed.ts';

/**
 * Returns the database with a replica: reads for accounts use it, and the primary if it fails.
 * All else uses the primary.
 */
export function onReplica(db: Database, replica: Replica): Database {
  const reading: Database['reading'] = (accountId, options = {}) => {
    const primary = db.reading(accountId, options);
    const runOnReplica = replica.inTurn(accountId, options);
    const run = async <Row extends pg.QueryResultRow>(
      statement: pg.QueryConfig & Partial<Statement>,
    ): Promise<Row[]> => {
      if (statement.onPrimary === true || !replica.isUsable) return primary.run<Row>(statement);
      try {
        return await runOnReplica<Row>(statement);
      } catch (error) {
        if (!(error instanceof ReplicaFailed)) throw error;
        return primary.run<Row>(statement);
      }
    };
    return Object.create(primary, { run: { value: run } });
  };
  return Object.create(db, { reading: { value: reading } });
}

/** Prisma clients that do the same. */
export function createReplicaPrisma(replica: Replica, primary: ReadingPrisma): ReadingPrisma {
  const prisma = new PrismaClient({ adapter: new PrismaPg(replica.pool, { disposeExternalPool: false }) });
  return clientsByAccount(prisma, async (accountId, { model, operation, args, query }) => {
    const again = () => repeated(primary.of(accountId), { model, operation, args });
    if (!replica.isUsable) return again();
    try {
      return await replica.turns.run(accountId, () => query(args).catch(blame));
    } catch (error) {
      if (!(error instanceof ReplicaFailed)) throw error;
      return again();
    }
  });
}

/** Sends an operation with another client. */
function repeated(
  client: PrismaClient,
  { model, operation, args }: { model: string | undefined; operation: string; args: unknown },
): Promise<unknown> {
  type Operations = Record<string, (args: unknown) => Promise<unknown>>;
  const owner = model === undefined ? client : Reflect.get(client, model.charAt(0).toLowerCase() + model.slice(1));
  const send = (owner as Operations)[operation];
  if (send === undefined) throw new Error(`Prisma has no ${operation} of ${model ?? 'the client'}`);
  return send.call(owner, args);
}
