import pg from 'pg';
import { parseConfig } from '../../src/process/config.ts';
import { startService } from '../../src/process/start.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { atEndOfFile } from './end-of-file.ts';
import { keepErrorLine } from './error-lines.ts';
import { type LogLine, PATIENT_ENV, type Running } from './process.ts';
import { isReady } from './status.ts';
import { waitFor } from './wait-for.ts';

export interface InProcessOptions {
  databaseUrl: string;
  role?: 'all' | 'api' | 'worker';
  /** Variables of the service; nothing of the environment of the tests. */
  env?: Record<string, string>;
}

/** Starts under way whose pools have longer time limits. */
let patientStarts = 0;
const { Pool } = pg;

class PatientPool extends Pool {
  constructor(options?: pg.PoolConfig) {
    super({ ...options, connectionTimeoutMillis: 60_000, query_timeout: 60_000 });
  }
}

/**
 * A service in the process of the tests shares one event loop with them, and on a busy machine that loop stands still
 * for longer than the service waits for a connection or a reply: what has come in time would count as late. How long it
 * waits is tested with processes, and in test/db.
 */
async function withPatientPools<T>(start: () => Promise<T>): Promise<T> {
  patientStarts += 1;
  Object.assign(pg, { Pool: PatientPool });
  try {
    return await start();
  } finally {
    patientStarts -= 1;
    if (patientStarts === 0) Object.assign(pg, { Pool });
  }
}

/**
 * The service inside the process of the test, from `src`: its start takes a tenth of a process's, and nothing has to be
 * built. For tests of signals, kills, commands, output, memory and metrics there are the processes of `process.ts`.
 */
export async function startInProcess({ databaseUrl, role = 'all', env = {} }: InProcessOptions): Promise<Running> {
  const given = { HOST: '127.0.0.1', PORT: '0', ROLE: role, DATABASE_URL: databaseUrl };
  const config = parseConfig({ ...given, ...PATIENT_ENV, ...env });
  const logs: LogLine[] = [];
  const log = createLog(
    { level: config.logLevel },
    {
      write: (text) => {
        const line: LogLine = JSON.parse(text);
        logs.push(line);
        keepErrorLine(line);
      },
    },
  );
  const service = await withPatientPools(() => startService(config, log));
  let stopped: Promise<void> | null = null;
  const stop = () => {
    stopped ??= service.stop().finally(hasEnded);
    return stopped;
  };
  const hasEnded = atEndOfFile(stop);
  await waitFor(() => isReady(service.url), { timeoutMs: 60_000, message: '/readyz' });
  return { baseUrl: service.url, logs, stop };
}
