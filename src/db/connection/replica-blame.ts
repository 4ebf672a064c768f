import { isUnavailable } from '../../domain/errors.ts';
import { CANCELLED } from './connections.ts';
import { sqlStateOf, translated } from './database.ts';
import { ReplicaFailed } from './replica-failed.ts';

/**
 * Throws a `ReplicaFailed` if the replica is the reason: it cannot be reached, it had to remove rows that the statement
 * needed, or the statement cannot run on any standby. A statement that took too long would do so on the primary as
 * well.
 */
export function blame(error: unknown): never {
  const sqlState = sqlStateOf(error);
  if (sqlState === CANCELLED || (sqlState !== null && !isUnavailable(translated(error)))) throw error;
  throw new ReplicaFailed('the replica did not answer', { cause: error });
}
