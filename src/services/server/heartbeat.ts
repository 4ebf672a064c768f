import type { Database } from '../../db/connection/database.ts';
import {
  type InstanceIdentity,
  type InstanceReport,
  removeInstance,
  reportInstance,
} from '../../db/insight/instances.ts';

/** Others see a process within this time, and miss it after five minutes. */
const EVERY_MS = 5000;

/**
 * Tells everybody who looks at the instances that this process is alive and what it does, until the answer
 * is called. A report that fails is made up for by the next.
 */
export function startHeartbeat(
  db: Database,
  report: () => InstanceReport,
  onError: (error: unknown) => void,
  everyMs = EVERY_MS,
): () => Promise<void> {
  let identity: InstanceIdentity | null = null;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const beat = async () => {
    try {
      identity = await reportInstance(db, identity, report());
    } catch (error) {
      onError(error);
    }
    if (stopped) return;
    timer = setTimeout(() => {
      beating = beat();
    }, everyMs);
  };
  let beating = beat();
  return async () => {
    stopped = true;
    clearTimeout(timer);
    // A report under way would bring the row back.
    await beating;
    if (identity !== null) await removeInstance(db, identity.id).catch(onError);
  };
}
