import { expect, it } from 'vitest';
import { Cooldowns } from '../../src/alerts/index.ts';

it('an account cools down for twenty times as long as its evaluation took, and others not at all', async () => {
  let now = 0;
  const cooldowns = new Cooldowns(() => now);
  const evaluation = (ms: number) => async () => {
    now += ms;
    return ms;
  };
  expect(await cooldowns.after('quick', evaluation(250))).toBe(250);
  expect(cooldowns.isCoolingDown('quick')).toBe(false);
  await cooldowns.after('slow', evaluation(1000));
  now += 19_999;
  expect([cooldowns.isCoolingDown('slow'), cooldowns.isCoolingDown('quick')]).toEqual([true, false]);
  now += 1;
  expect(cooldowns.isCoolingDown('slow')).toBe(false);
  const failing = async () => {
    now += 4000;
    throw new Error('too long');
  };
  await expect(cooldowns.after('failing', failing)).rejects.toThrow('too long');
  expect(cooldowns.isCoolingDown('failing')).toBe(true);
  // Most of it was a wait for a connection.
  await cooldowns.after('slow', evaluation(20_000));
  now += 100_000;
  expect(cooldowns.isCoolingDown('slow')).toBe(false);
});
