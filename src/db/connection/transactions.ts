import { JobferryError } from '../../domain/errors.ts';
import type { Prisma } from '../generated/client.ts';
import { translated } from './database.ts';
import type { PrismaClient } from './prisma.ts';

/**
 * Runs a transaction that changes an account, one at a time per account: some limits span all its queues or keys. Its
 * lock lets other transactions refer to the account, as the audit log does.
 * @throws JobferryError `not_found` when there is no such account
 */
export async function exclusively<T>(
  prisma: PrismaClient,
  accountId: string,
  work: (tx: Prisma.TransactionClient) => Promise<T>,
): Promise<T> {
  return guarded(() =>
    prisma.$transaction(async (tx) => {
      const found = await tx.$queryRaw<unknown[]>`select id from account where id = ${accountId} for no key update`;
      if (found.length === 0) throw new JobferryError('not_found', `no account ${accountId}`);
      return work(tx);
    }),
  );
}

/** Translates Prisma's errors to those that `Database.query` throws. */
export async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw translated(error);
  }
}
