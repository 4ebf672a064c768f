import { queryOptions, useQuery } from '@tanstack/preact-query';
import type { ResultOf } from '../../query/schema/graphql.ts';
import { learnServerTime } from '../base/clock.ts';
import { isSeen } from '../words/seen.ts';
import { request } from './client.ts';
import { Shell } from './operations/shell.ts';

export type ShellData = ResultOf<typeof Shell>;

/** The facts that every screen needs: who I am, the server and its clock, its processes. */
export const shellQuery = queryOptions({
  queryKey: ['Shell'],
  queryFn: async ({ signal }): Promise<ShellData> => {
    const sentAt = performance.now();
    const data = await request(Shell, {}, signal);
    learnServerTime(data.server.now, sentAt, performance.now());
    return data;
  },
  refetchInterval: 15_000,
});

export interface ServerFacts {
  environment: string;
  version: string;
  webhookTimeoutSeconds: number;
  retentionSeconds: number;
  lifetimeSeconds: number;
  /** Whether a process that delivers was seen within 30 s; true if this account may not see the processes. */
  hasWorker: boolean;
  lastWorkerSeenAt: string | null;
  /** Versions of the processes seen within 30 s. */
  versions: readonly string[];
}

export function useShell(): ShellData | undefined {
  return useQuery(shellQuery).data;
}

/** Returns null until the first answer. Times of the server are not known before it either. */
export function useServer(): ServerFacts | null {
  const shell = useShell();
  return shell === undefined ? null : factsOf(shell);
}

/** How long a receiver may take; the usual time until the server has said it. */
export function useWebhookTimeout(): number {
  return useServer()?.webhookTimeoutSeconds ?? 15;
}

/** By the time of the answer: an old answer does not say that the processes have gone since. */
function factsOf({ server, instances }: ShellData): ServerFacts {
  const now = Date.parse(server.now);
  const running = instances.filter((one) => isSeen(one, now));
  const workers = instances.filter(({ role }) => role !== 'api');
  const seen = workers.map(({ lastSeenAt }) => lastSeenAt).sort();
  return {
    environment: server.environment,
    version: server.version,
    webhookTimeoutSeconds: server.webhookTimeoutSeconds,
    retentionSeconds: server.retentionSeconds,
    lifetimeSeconds: server.lifetimeSeconds,
    hasWorker: instances.length === 0 || running.some(({ role }) => role !== 'api'),
    lastWorkerSeenAt: seen.at(-1) ?? null,
    versions: [...new Set(running.map(({ version }) => version))].sort(),
  };
}
