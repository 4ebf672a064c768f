import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { createLog } from '../../telemetry/log.ts';
import { DATA_DIR, type Dev, envLines, type Print, startDev } from '../dev/run.ts';
import { command } from './command.ts';
import { jsonOf } from './output.ts';
import { stopOnSignal } from './stop-on-signal.ts';

const KEYS = 'r retry · o open the dashboard · p pause · n next event · q quit';

export const DEV = command({
  name: 'dev',
  summary:
    'Run Jobferry for development: a queue for each URL, a line for each attempt, data in the folder .jobferry. Its settings are variables with JOBFERRY_ before their names, such as JOBFERRY_PORT.',
  options: {
    forward: { value: 'URL', help: 'where deliveries go, such as http://localhost:3000/jobs; several with commas' },
    fresh: { help: 'delete the data of earlier runs, keys and secrets included' },
    json: { help: 'print one JSON object for each event' },
    quiet: { help: 'print no attempts' },
    'no-open': { help: 'do not open the dashboard' },
    data: { value: 'FOLDER', help: `folder of the data; ${DATA_DIR} by default` },
    discard: { help: 'delete the data at the end' },
    attached: { help: 'for tests: create no queue, take commands from the standard input, and end with it' },
  },
  isService: true,
  outlivesReader: true,
  run: async ({ options }, environment) => {
    const { config } = environment.settingsOfDev();
    const { startService } = await import('../../process/start.ts');
    const log = createLog({ level: 'error' });
    const print = options.json ? jsonPrint() : plainPrint(options.quiet);
    const startedAt = performance.now();
    const starting = startDev(
      config,
      {
        forward: options.forward ?? (options.attached ? '' : null),
        isFresh: options.fresh,
        print,
        dataDir: options.data ?? DATA_DIR,
        isDiscarded: options.discard,
      },
      (settings, wrapSender) => startService(settings, log, { development: { wrapSender } }),
    );
    // From the beginning, or a signal would leave the database running.
    const stop = stopOnSignal(starting, log);
    if (options.attached) process.stdin.on('end', () => stop('the standard input has ended'));
    const dev = await starting;
    if (options.attached) takeCommands(dev);
    if (!options.json) console.log(`\nready in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
    if (isTerminal && !options['no-open']) console.log(await openDashboard(dev));
    if (isTerminal && !options.json) readKeys(dev, stop);
    return null;
  },
});

function plainPrint(isQuiet: boolean): Print {
  return {
    ready: (facts) => {
      const lines = facts.queues.map(({ name, url }) => `  ${name} → ${url}`);
      const guide = `  guide: ${facts.url}/guide/`;
      const dashboard = `  dashboard: ${facts.url}/ (\`jobferry sign-in-link\` signs in)`;
      const [queue] = facts.queues;
      const next =
        queue === undefined ? [] : ['', `Next: jobferry publish ${queue.name} --payload '{"hello":"world"}'`];
      console.log(
        ['Jobferry for development', '', ...lines, guide, dashboard, '', ...envLines(facts), ...next].join('\n'),
      );
    },
    attempt: (_attempt, line) => {
      if (!isQuiet) console.log(line);
    },
    note: (_event, sentence) => console.log(sentence),
  };
}

function jsonPrint(): Print {
  const print = (event: object) => console.log(jsonOf(event));
  return {
    ready: (facts) => print({ type: 'ready', ...facts }),
    attempt: (attempt) => print({ type: 'attempt', ...attempt }),
    note: (event, message) => print({ ...event, message }),
  };
}

function readKeys(dev: Dev, stop: (reason: string) => void): void {
  const actions: Record<string, () => Promise<string>> = {
    r: async () => {
      const id = dev.lastFailed();
      return id === null ? 'no attempt has failed' : dev.client.retry(id);
    },
    o: () => openDashboard(dev),
    p: () => dev.client.togglePause(dev.queueIds),
    n: () => dev.client.runNext(),
  };
  console.log(KEYS);
  process.stdin.setRawMode(true);
  process.stdin.on('data', (bytes) => {
    // Keys that follow each other quickly come together.
    for (const key of bytes.toString()) {
      // In raw mode Control-C is a byte and no signal.
      if (key === 'q' || key === '\u0003') stop('a key');
      const action = Object.hasOwn(actions, key) ? actions[key] : undefined;
      action?.().then(
        (sentence) => console.log(sentence),
        (error: unknown) => console.log(String(error)),
      );
    }
  });
}

/** Answers each line of the standard input with a line: an account of its own for the next test. */
function takeCommands(dev: Dev): void {
  createInterface({ input: process.stdin }).on('line', () => {
    dev.nextAccount().then(
      (account) => console.log(jsonOf({ type: 'account', ...account })),
      (error: unknown) => console.log(jsonOf({ type: 'error', message: String(error) })),
    );
  });
}

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/** @returns the sentence to print: not every machine has a browser */
async function openDashboard(dev: Dev): Promise<string> {
  const link = await dev.signInLink();
  if (link === null) return 'there is no dashboard';
  const [opener = 'xdg-open', ...args] = OPENERS[process.platform] ?? [];
  const child = spawn(opener, [...args, link], { stdio: 'ignore', detached: true });
  child.unref();
  return new Promise((resolve) => {
    child.on('spawn', () => resolve('the dashboard opens in your browser'));
    child.on('error', () => resolve(`Dashboard: ${link}`));
  });
}
