import pg from 'pg';
import type { Database } from '../../src/db/connection/database.ts';
import { batched, batchOf } from '../support/batched.ts';
import { databaseOn } from './model/database.ts';
import type { Execute } from './model/statements.ts';
import type { Tables } from './model/tables.ts';
import type { Faults } from './options.ts';
import type { Process } from './process.ts';
import type { Scheduler } from './scheduler.ts';

/** Milliseconds that a client waits for an answer at most, as `db/connection/database` sets it. */
const ANSWER_TIMEOUT_MS = 4500;
/** After this the server itself ends a statement. */
const STATEMENT_TIMEOUT_MS = 4000;

/** The server: executes statements one by one, can be gone, and then has lost all earlier connections. */
export class Server {
  readonly tables: Tables;
  /** Changes with every restart: earlier statements that were not executed are lost. */
  epoch = 0;
  isUp = true;
  faults: Pick<Faults, 'brokenStatements' | 'stalledStatements' | 'deadlocks'>;
  latencyMs: number;
  readonly #execute: Execute;
  readonly #scheduler: Scheduler;
  readonly #onCommit: (name: string, values: unknown[], rows: object[], host: Process) => void;
  readonly #onAsk: (name: string, values: unknown[], host: Process) => void;
  readonly #reached: (state: string) => void;

  constructor(setup: {
    tables: Tables;
    execute: Execute;
    scheduler: Scheduler;
    faults: Faults;
    latencyMs: number;
    onCommit: (name: string, values: unknown[], rows: object[], host: Process) => void;
    /** Called when a process sends a statement, whether it is executed or not. */
    onAsk: (name: string, values: unknown[], host: Process) => void;
    reached: (state: string) => void;
  }) {
    this.tables = setup.tables;
    this.faults = setup.faults;
    this.latencyMs = setup.latencyMs;
    this.#execute = setup.execute;
    this.#scheduler = setup.scheduler;
    this.#onCommit = setup.onCommit;
    this.#onAsk = setup.onAsk;
    this.#reached = setup.reached;
  }

  /** After a crash unlogged tables are empty; after an orderly restart they are as before. */
  restart({ isCrash }: { isCrash: boolean }): void {
    this.isUp = false;
    this.epoch += 1;
    this.tables.leaseLocks.clear();
    if (isCrash) this.tables.confirmations.clear();
  }

  /** A failover: the new server has the data, but neither the sessions nor the running statements. */
  failOver(): void {
    this.epoch += 1;
    this.tables.leaseLocks.clear();
    this.tables.confirmations.clear();
  }

  /** The database as a process sees it. */
  connect(host: Process): Database {
    return databaseOn(({ name = '', values = [] }) => this.#query(host, name, values));
  }

  #query(host: Process, name: string, values: unknown[]): Promise<{ rows: object[] }> {
    const { random } = this.#scheduler;
    const batch = this.#batched(name, values);
    this.#onAsk(batch.name, batch.values, host);
    const { deadlocks, stalledStatements, brokenStatements } = this.faults;
    if (!this.isUp) return this.#answer(host, name, () => Promise.reject(new Error('connect ECONNREFUSED')));
    if (random.chance(deadlocks)) return Promise.reject(deadlock());
    if (random.chance(stalledStatements)) return this.#stall(host, name, values);
    if (random.chance(brokenStatements)) return this.#break(host, name, values);
    // Often nothing comes in between, which costs no event.
    if (random.chance(0.7)) return Promise.resolve({ rows: this.#run(host, name, values) });
    return this.#send(host, name, values);
  }

  #batched(name: string, values: unknown[]) {
    return batched(name, values, (id) => this.tables.jobs.get(id));
  }

  #run(host: Process, name: string, values: unknown[]): object[] {
    try {
      // Plans of bugs and checks know the statements for batches only.
      const batch = this.#batched(name, values);
      const rows = this.#execute(this.tables, batch.name, batch.values);
      const { trace } = this.#scheduler;
      trace?.(`  database: ${name} of ${host.name} ${JSON.stringify(values)} -> ${JSON.stringify(rows)}`);
      this.#onCommit(batch.name, batch.values, rows, host);
      return batch.narrow(rows);
    } catch (error) {
      // The caller would take it for an outage.
      this.#scheduler.fail(error);
      throw error;
    }
  }

  #answer<T>(host: Process, name: string, settle: () => Promise<T>): Promise<T> {
    return new Promise((resolve) => {
      const wait = this.#scheduler.random.next() * this.latencyMs;
      this.#scheduler.after(wait, host, `answer to ${name}`, () => resolve(settle()));
    });
  }

  /** Two ways, each taking its time; the process may be gone at either end. */
  #send(host: Process, name: string, values: unknown[]): Promise<{ rows: object[] }> {
    const { epoch } = this;
    return new Promise((resolve, reject) => {
      this.#scheduler.after(this.#scheduler.random.next() * this.latencyMs, null, `${name} of ${host.name}`, () => {
        // A process that died had perhaps not even written it.
        if (host.dead && this.#scheduler.random.chance(0.5)) return;
        if (host.dead) this.#reached('a statement of a dead process is carried out');
        const lost = epoch !== this.epoch;
        const rows = lost ? [] : this.#run(host, name, values);
        const wait = this.#scheduler.random.next() * this.latencyMs;
        this.#scheduler.after(wait, host, `answer to ${name}`, () => {
          if (lost || epoch !== this.epoch) {
            if (!lost) this.#reached(`the database restarts between commit and answer of ${batchOf(name)}`);
            reject(terminated());
          } else resolve({ rows });
        });
      });
    });
  }

  /** The connection breaks before the commit or after it, and the caller cannot know which. */
  #break(host: Process, name: string, values: unknown[]): Promise<{ rows: object[] }> {
    if (this.#scheduler.random.chance(0.5)) {
      this.#run(host, name, values);
      this.#reached(`a connection breaks after the commit of ${batchOf(name)}`);
    } else this.#reached(`a connection breaks before the commit of ${batchOf(name)}`);
    return this.#answer(host, name, () => Promise.reject(new Error('Connection terminated unexpectedly')));
  }

  /** The answer never comes: the caller gives up, and does not know that the statement has been carried out. */
  #stall(host: Process, name: string, values: unknown[]): Promise<{ rows: object[] }> {
    const { epoch } = this;
    const wait = this.#scheduler.random.next() * STATEMENT_TIMEOUT_MS;
    this.#scheduler.after(wait, null, `stalled ${name} of ${host.name}`, () => {
      if (epoch !== this.epoch) return;
      this.#run(host, name, values);
      this.#reached(`${batchOf(name)} is carried out although its caller has given up`);
    });
    return new Promise((_resolve, reject) => {
      this.#scheduler.after(ANSWER_TIMEOUT_MS, host, `${name} has timed out`, () => {
        reject(new Error('Query read timeout'));
      });
    });
  }
}

function deadlock(): pg.DatabaseError {
  return sqlError('40P01');
}

function terminated(): pg.DatabaseError {
  return sqlError('57P01');
}

function sqlError(code: string): pg.DatabaseError {
  const error = new pg.DatabaseError('simulated', 0, 'error');
  error.code = code;
  return error;
}
