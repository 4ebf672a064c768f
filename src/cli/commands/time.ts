import { readDuration } from '../../domain/duration.ts';
import { createDevClient, type DevClient, type WireClock, type WireEvent } from '../dev/client.ts';
import { DATA_DIR } from '../dev/run.ts';
import { addressIn } from './api.ts';
import { CommandError, command, UsageError } from './command.ts';
import { type Column, table } from './output.ts';

const COLUMNS: readonly Column<WireEvent>[] = [
  { title: 'AT', of: ({ at }) => new Date(at) },
  { title: 'QUEUE', of: ({ queue }) => queue },
  { title: 'JOB', of: ({ jobId }) => jobId },
  { title: 'REASON', of: ({ reason }) => reason.toLowerCase() },
];

export const TIME = command({
  name: 'time',
  summary:
    'Move the clock of a running `jobferry dev` forward: to the next event (`next`), by a duration (`+2h`), to a time (`2026-12-24T10:00Z`), or until no job waits for a later time (`drain`). `reset` puts the clock back. Without an argument, it lists what happens next.',
  options: { data: { value: 'FOLDER', help: `folder of its data; ${DATA_DIR} by default` } },
  argument: { name: 'WHAT', what: 'next, a duration such as +2h, a time, drain or reset', optional: true },
  run: async ({ argument, options: { data = DATA_DIR } }) => {
    const go = actionOf(argument);
    return go(await clientOf(data));
  },
});

type Action = (client: DevClient) => Promise<{ json: unknown; text: string; isFailure?: boolean }>;

function actionOf(argument: string): Action {
  if (argument === '') {
    return async (client) => {
      const clock = await client.clock();
      const events = table(COLUMNS, clock.next, 'No job waits for a later time.');
      return { json: clock, text: `${describe(clock)}\n${events}` };
    };
  }
  if (argument === 'reset') {
    return async (client) => {
      const clock = await client.resetClock();
      return { json: clock, text: describe(clock) };
    };
  }
  const input = travelOf(argument);
  return async (client) => {
    const travelled = await client.travel(input);
    const { isSettled, passed, clock } = travelled;
    const events = table(COLUMNS, passed, 'Nothing happened.');
    const lag = isSettled ? [] : ['After 20 s deliveries were still in flight, or due jobs were not claimed.'];
    return { json: travelled, text: [events, ...lag, describe(clock)].join('\n'), isFailure: !isSettled };
  };
}

function travelOf(argument: string): Parameters<DevClient['travel']>[0] {
  if (argument === 'next') return {};
  if (argument === 'drain') return { drain: true };
  const ms = readDuration(argument.replace(/^\+/, ''));
  if (ms !== null) return { bySeconds: ms / 1000 };
  const at = new Date(argument);
  if (/^\d{4}-/.test(argument) && !Number.isNaN(at.getTime())) return { until: at.toISOString() };
  throw new UsageError(
    'WHAT must be next, drain, reset, a duration such as +90s or +2h, or a time such as 2026-12-24T10:00Z',
  );
}

function describe({ now, aheadSeconds }: WireClock): string {
  const ahead = aheadSeconds === 0 ? 'as that of the machine' : `${aheadSeconds} s ahead of the machine's`;
  return `The clock is at ${now}, ${ahead}.`;
}

async function clientOf(folder: string): Promise<DevClient> {
  const address = await addressIn(folder);
  if (address !== null) return createDevClient(address.url, address.apiKey);
  throw new CommandError(`no jobferry dev uses the data folder ${folder}: start it, or name its folder with --data`);
}
