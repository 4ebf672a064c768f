import { expect, it } from 'vitest';
import { execute } from './model/statements.ts';
import { report, runSeeds, traceOf } from './run.ts';
import type { Planted } from './simulation.ts';

it('does the same again for the same seed', async () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const { trace } = await traceOf(seed);
    expect(trace.length).toBeGreaterThan(5);
    expect((await traceOf(seed)).trace).toEqual(trace);
  }
});

it('does the same with a trace and without, and after other seeds', async () => {
  for (const seed of [7, 19, 28]) {
    const { events } = await runSeeds(seed, 1);
    await runSeeds(seed + 1, 5);
    const { trace } = await traceOf(seed);
    // Indented lines are details of an event.
    expect(trace.filter((line) => !/^ *[\d.]+ {2,}/.test(line))).toHaveLength(events);
  }
});

it('reports with a failure what is needed to find its cause', async () => {
  const planted: Planted = {
    execute: (tables, name, values) => {
      const rows = execute(tables, name, values);
      if (name === 'settle') tables.letters.clear();
      return rows;
    },
  };
  const { failure } = await runSeeds(1, 500, planted);
  if (failure === null) throw new Error('no failure');
  const text = await report(failure, planted);
  expect(text).toContain(`seed ${failure.seed}: Violation: I-25 DlqIff: `);
  expect(text).toContain(`SIM_SEED=${failure.seed} npx vitest run test/simulation`);
  expect(text).toContain('options: {"seed":');
  expect(text).toContain('database: settle of process');
});
