import { type Jobferry, startJobferry } from '../../test/support/process.ts';
import { waitFor } from '../../test/support/wait-for.ts';

/** A place for a process that is started again whenever it ends, as an operator's supervisor would. */
export interface Slot {
  readonly role: 'api' | 'worker';
  readonly servesApi: boolean;
  /** The process while it is ready. */
  readonly process: Jobferry | null;
  readonly workerId: number | null;
  /** Ends it on purpose; the supervisor starts another. Resolves when it is gone. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  ready(): Promise<void>;
  /**
   * Ends it in order and for good.
   * @returns milliseconds from SIGTERM until it was gone; null when it had to be killed
   */
  stop(): Promise<number | null>;
  /** Ends it for good. */
  close(): Promise<void>;
}

export interface SlotOptions {
  /** Whether a worker serves the API, too, and claims the jobs that it publishes. */
  hasBothRoles?: boolean;
  role: 'api' | 'worker';
  databaseUrl: string;
  /** Asked at each start. */
  env: () => Record<string, string>;
  /** Called when the process ended and the run had not stopped it. */
  onUnexpectedExit(pid: number, said: string): void;
}

const START_MS = 180_000;

/** Keeps one process running. */
export async function supervise(options: SlotOptions): Promise<Slot> {
  let current: Jobferry | null = null;
  let workerId: number | null = null;
  let expected: Jobferry | null = null;
  let closed = false;

  async function keepUp(): Promise<void> {
    while (!closed) {
      const { databaseUrl } = options;
      const env = options.env();
      const role = options.hasBothRoles ? 'all' : options.role;
      // A process that cannot start logs the reason and ends, as it should while the database is away.
      const started = await startJobferry({ role, databaseUrl, env, readyWithinMs: START_MS }).catch(() => null);
      if (started === null) continue;
      workerId = (started.logs.find(({ msg }) => msg === 'worker started')?.workerId as number | undefined) ?? null;
      current = started;
      // A run of many minutes writes more lines than a report needs.
      const trim = setInterval(() => started.logs.splice(0, Math.max(0, started.logs.length - 100)), 1000);
      if (closed) await started.kill('SIGKILL');
      const { code, signal } = await started.exited;
      clearInterval(trim);
      current = null;
      if (expected === started || closed) continue;
      const said = [...started.logs.slice(-5).map((line) => JSON.stringify(line)), ...started.output.slice(-20)];
      options.onUnexpectedExit(started.pid, `code ${code}, signal ${signal}\n${said.join('\n')}`);
    }
  }

  const keeping = keepUp();
  const slot: Slot = {
    role: options.role,
    servesApi: options.role === 'api' || options.hasBothRoles === true,
    get process() {
      return current;
    },
    get workerId() {
      return workerId;
    },
    async end(signal) {
      const ending = current;
      if (ending === null) return;
      expected = ending;
      current = null;
      await ending.kill(signal);
    },
    async ready() {
      await waitFor(() => current !== null, { timeoutMs: START_MS, message: `a ready ${options.role}` });
    },
    async stop() {
      await slot.ready();
      closed = true;
      const since = performance.now();
      const hasEnded = await current?.kill('SIGTERM').then(
        () => true,
        () => false,
      );
      await keeping;
      return hasEnded ? Math.round(performance.now() - since) : null;
    },
    async close() {
      closed = true;
      await current?.kill('SIGKILL');
      await keeping;
    },
  };
  await slot.ready();
  return slot;
}
