import { isFaultless, verify } from '../measure/account.mjs';
import { untilQuiet } from '../measure/quiet.mjs';

/**
 * Systems take turns in each round, so that a slow minute of the machine hits all of them. Each turn starts
 * the system again, on an empty store. One that cannot start is reported and left out from then on.
 *
 * `plan`: rounds; start, for the system; receiver, for the webhook; describe, a turn in a line. A system may have start
 * and receiver of its own in `system.plan`.
 */
export async function takeTurns(stage, systems, plan, turn) {
  const turns = [];
  const absent = {};
  for (let round = 1; round <= plan.rounds; round += 1) {
    for (const system of systems) {
      if (absent[system.name] !== undefined) continue;
      const say = (text) => console.log(`round ${round}  ${system.name.padEnd(16)} ${text}`);
      await stage.postgres.checkpoint();
      await untilQuiet(stage.options.quietSeconds);
      const { running, problem } = await startSystem(stage, system, `${system.name}-${round}`, {
        ...plan,
        ...system.plan,
      });
      if (running === null) {
        absent[system.name] = problem;
        say(`does not start: ${problem}`);
        continue;
      }
      try {
        const measured = {
          round,
          system: system.name,
          isOwn: system.isOwn === true,
          ...(await turn(running, system)),
          check: await verify(stage, running),
        };
        turns.push(measured);
        say(
          `${plan.describe(measured)}${isFaultless(measured.check) ? '' : `, WRONG: ${JSON.stringify(measured.check)}`}`,
        );
      } finally {
        await running.stop();
      }
    }
  }
  return { turns, absent };
}

/** `name` distinguishes deliveries of this start from late ones of an earlier start. */
export async function startSystem(stage, system, name, { start = {}, receiver = {} } = {}) {
  const webhookUrl = await stage.receiver.ask('begin', { name, ...receiver });
  try {
    const running = await system.start(stage, { ...start, webhookUrl });
    await stage.receiver.ask('secrets', { secrets: running.secrets });
    return { running, problem: null };
  } catch (error) {
    if (system.isOwn) throw error;
    return { running: null, problem: error.message };
  }
}

/** The service must deliver every job once; for other systems, differences are only reported. */
export function faultsOf(turns) {
  return turns
    .filter(({ isOwn, check }) => isOwn && !isFaultless(check))
    .map(({ round, system, check }) => `round ${round}, ${system}: ${JSON.stringify(check)}`);
}
