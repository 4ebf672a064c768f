import { type BulkAction, type JobferryClient, unwrap } from '../../../packages/client/src/index.ts';
import { QUEUE_ARGUMENT, queueByNameOrId, withApi } from './api.ts';
import { command, UsageError } from './command.ts';
import { printable } from './output.ts';
import { wholeFromOne } from './values.ts';

const DRY_RUN = { help: 'change nothing: count what would be changed' };

export const DELETE = command({
  name: 'queue delete',
  summary: 'Delete a queue. Its pending jobs die, and its dead letters are removed.',
  reach: 'api',
  options: { confirm: { value: 'NAME', required: true, help: 'the name of the queue, to confirm' } },
  argument: QUEUE_ARGUMENT,
  run: ({ argument, options: { confirm } }, environment) =>
    withApi(environment, async (client) => {
      const { id, name } = await queueByNameOrId(client, argument);
      if (confirm !== name)
        throw new UsageError(`--confirm must be the name of the queue, which is ${printable(name)}`);
      await unwrap(client.queues.delete({ params: { id } }));
      return { json: { id, deleted: true }, text: `Queue ${printable(name)} is deleted.` };
    }),
});

export const PURGE = command({
  name: 'queue purge',
  summary: 'Cancel all pending jobs of a queue, and wait until it is done.',
  reach: 'api',
  options: { 'dry-run': DRY_RUN },
  argument: QUEUE_ARGUMENT,
  run: ({ argument, options: { 'dry-run': dryRun } }, environment) =>
    withApi(environment, async (client) => {
      const { name } = await queueByNameOrId(client, argument);
      const { matched, action } = await client.queues.purge(name, { dryRun });
      return finished(matched, await ended(client, action), 'cancelled');
    }),
});

export const REPLAY_ALL = command({
  name: 'queue replay',
  summary: 'Replay the dead letters of a queue that were not replayed, oldest first, and wait until it is done.',
  reach: 'api',
  options: {
    'dry-run': DRY_RUN,
    rate: { value: 'N', help: 'most replays per second; no limit by default' },
    canary: { help: 'replay one first, and the others only when its job has completed' },
  },
  argument: QUEUE_ARGUMENT,
  run: ({ argument, options: { 'dry-run': dryRun, rate, canary } }, environment) => {
    const ratePerSecond = rate === undefined ? {} : { ratePerSecond: wholeFromOne(rate, '--rate') };
    return withApi(environment, async (client) => {
      const { id } = await queueByNameOrId(client, argument);
      const options = { dryRun, canary, ...ratePerSecond };
      const { matched, action } = await client.deadLetters.replayMatching({ queueIds: [id], replayed: false }, options);
      return finished(matched, await ended(client, action), 'replayed');
    });
  },
});

/** The action goes on when the command is interrupted, so its id is printed first. */
async function ended(client: JobferryClient, action: BulkAction | null): Promise<BulkAction | null> {
  if (action === null) return null;
  console.error(`bulk action ${action.id}: the dashboard shows how far it is`);
  return client.bulkActions.waitForEnd(action.id);
}

const jobs = (count: number) => (count === 1 ? '1 job' : `${count} jobs`);

function finished(matched: number, action: BulkAction | null, done: string) {
  if (action === null) return { json: { matched, action }, text: `${jobs(matched)} would be ${done}.` };
  const { succeeded, skipped, status, error } = action;
  const rest = skipped === 0 ? '' : `; ${skipped} had changed meanwhile`;
  const text =
    status === 'COMPLETED'
      ? `${jobs(succeeded)} ${done}${rest}.`
      : `${status.toLowerCase()}: ${error ?? `${jobs(succeeded)} ${done}`}`;
  return { json: { matched, action }, text, isFailure: status !== 'COMPLETED' };
}
