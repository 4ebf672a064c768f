import { expand } from './options.ts';
import { drive } from './scheduler.ts';
import { type Planted, Simulation } from './simulation.ts';

export interface Failure {
  seed: number;
  message: string;
}

export interface Summary {
  sequences: number;
  events: number;
  /** Rare states, and in how many sequences each was reached. */
  reached: Map<string, number>;
  failure: Failure | null;
}

/** Runs so many seeds until one fails, from the first and then every other or all. */
export async function runSeeds(first: number, count: number, planted: Planted = {}, step = 1): Promise<Summary> {
  const summary: Summary = { sequences: 0, events: 0, reached: new Map(), failure: null };
  const { stackTraceLimit } = Error;
  // Outages are simulated by the million, and their stack traces are never read.
  Error.stackTraceLimit = 0;
  for (let n = 0; n < count && summary.failure === null; n += 1) {
    await runSeed(first + n * step, summary, null, planted);
  }
  Error.stackTraceLimit = stackTraceLimit;
  return summary;
}

async function runSeed(seed: number, summary: Summary, trace: string[] | null, planted: Planted): Promise<void> {
  const reached = new Set<string>();
  let simulation: Simulation | null = null;
  const write = trace === null ? null : (line: string) => void trace.push(`${now(simulation)} ${line}`);
  try {
    const running = new Simulation(seed, (state) => reached.add(state), write, planted);
    simulation = running;
    running.scheduler.install();
    await drive(() => running.step());
  } catch (error) {
    const where = simulation === null ? '' : ` at ${now(simulation)} ms`;
    summary.failure = { seed, message: `${String(error)}${where}` };
    if (!(error instanceof Error) || error.name !== 'Violation')
      summary.failure.message += `\n${(error as Error).stack}`;
  } finally {
    simulation?.scheduler.uninstall();
  }
  summary.sequences += 1;
  summary.events += simulation?.scheduler.events ?? 0;
  for (const state of reached) summary.reached.set(state, (summary.reached.get(state) ?? 0) + 1);
}

function now(simulation: Simulation | null): string {
  return (simulation?.scheduler.now ?? 0).toFixed(1).padStart(9);
}

/** Runs a seed again and returns its events. */
export async function traceOf(
  seed: number,
  planted: Planted = {},
): Promise<{ trace: string[]; failure: Failure | null }> {
  const trace: string[] = [];
  const summary: Summary = { sequences: 0, events: 0, reached: new Map(), failure: null };
  await runSeed(seed, summary, trace, planted);
  return { trace, failure: summary.failure };
}

/** How much of a trace fits into a test's message; the whole of it comes with SIM_SEED. */
const LAST_LINES = 150;

/** The report of a seed that failed, for a developer. */
export async function report({ seed, message }: Failure, planted: Planted = {}): Promise<string> {
  const { trace } = await traceOf(seed, planted);
  return [
    `seed ${seed}: ${message}`,
    `again, with the whole trace: SIM_SEED=${seed} npx vitest run test/simulation`,
    `options: ${JSON.stringify(expand(seed))}`,
    `the last ${Math.min(LAST_LINES, trace.length)} of ${trace.length} lines of the trace:`,
    ...trace.slice(-LAST_LINES),
  ].join('\n');
}
