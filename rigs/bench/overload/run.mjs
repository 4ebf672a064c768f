// The outcomes of publishes when twice as many come as can be written, and after that load.
//
//   npm run build
//   node rigs/bench/overload/run.mjs [--seconds 60] [--connections 4000] [--factor 2] [--role api] [--obedient]
//
// One process of the service with its embedded database; the load is another process on loopback, without idempotency
// keys. First the capacity, in a closed loop, and a quiet account alone; then the load, at a fixed rate; then a tenth
// of the capacity. Beside it the quiet account publishes 10 jobs a second. `--role all` delivers, too, to a receiver
// that answers at once. `--obedient`: clients that are refused wait as `Retry-After` says. Prints a line for each
// second and what was promised; writes overload.json, .svg and .md into the folder OUT (the present one). Exit code 1
// when a promise is not kept. Bounded: 25 s before the load, the load as asked, 10 s after it.
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Assistant } from '../load/assistant.mjs';
import { chartOf } from './chart.mjs';
import { countDeliveries } from './deliveries.mjs';
import { sum, summaryOf, targetsOf } from './judge.mjs';
import { describe, print } from './report.mjs';

const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const KEY = 'key-of-the-overload-benchmark';
const CALIBRATION_CONNECTIONS = 400;
const [WARM_UP_S, CALIBRATION_S, ALONE_S, AFTER_S] = [6, 8, 5, 10];
const LOAD_PRIORITY = 10;
const QUIET = { rate: 10, connections: 20 };

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    connections: { type: 'string', default: '4000' },
    factor: { type: 'string', default: '2' },
    role: { type: 'string', default: 'api' },
    obedient: { type: 'boolean', default: false },
  },
});
const [seconds, connections, factor] = [values.seconds, values.connections, values.factor].map(Number);

const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-overload-'));
const service = spawn(process.execPath, [...(process.env.SERVICE_OPTIONS?.split(' ') ?? []), MAIN, 'serve', '--role', values.role], {
  stdio: ['ignore', 'ignore', 'pipe'],
  env: {
    PATH: process.env.PATH,
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: dataDir,
    BOOTSTRAP_API_KEY: KEY,
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
  },
});
const [loadProcess, quietProcess] = [new Assistant('../overload/load.mjs'), new Assistant('../overload/load.mjs')];
// On machines of their own clients would take no processor time from the service.
setPriority(loadProcess.pid, LOAD_PRIORITY);
const deliveries = values.role === 'all' ? await countDeliveries() : null;
let isKept = false;
try {
  isKept = await measure();
} finally {
  loadProcess.stop();
  quietProcess.stop();
  deliveries?.stop();
  service.kill('SIGTERM');
  await new Promise((resolve) => service.once('exit', resolve));
  await rm(dataDir, { recursive: true, force: true });
}
process.exit(isKept ? 0 : 1);

async function measure() {
  const url = await addressOf(service);
  const webhookUrl = deliveries?.url ?? 'http://127.0.0.1:9/';
  const loud = await target(url, KEY, webhookUrl);
  const quietAccount = await target(url, await anotherAccount(), webhookUrl);
  const asFast = (length) => ({ target: loud, connections: CALIBRATION_CONNECTIONS, seconds: length });
  await loadProcess.ask('closedLoop', asFast(WARM_UP_S));
  deliveries?.start();
  const calibrated = await loadProcess.ask('closedLoop', asFast(CALIBRATION_S));
  const deliveredBefore = deliveries?.end();
  await deliveries?.drained();
  const capacity = Math.round(sum(calibrated.seconds.map(({ good }) => good)) / CALIBRATION_S);
  const alone = await quietProcess.ask('openLoop', { target: quietAccount, ...QUIET, seconds: ALONE_S });
  const rate = capacity * factor;
  console.log(`capacity ${capacity}/s with ${CALIBRATION_CONNECTIONS} connections; load ${rate}/s with ${connections}`);

  const memory = watchMemory(service.pid);
  deliveries?.start();
  const phases = { seconds, afterSeconds: AFTER_S };
  const [loudResult, quietResult] = await Promise.all([
    loadProcess.ask('openLoop', {
      target: loud,
      connections,
      rate,
      afterRate: capacity / 10,
      isObedient: values.obedient,
      ...phases,
    }),
    quietProcess.ask('openLoop', { target: quietAccount, ...QUIET, afterRate: QUIET.rate, ...phases }),
  ]);
  const result = { loud: loudResult, quiet: quietResult, alone, deliveries: deliveries?.end() };
  const summary = summaryOf(result, {
    role: values.role,
    clientsWaitAsTold: values.obedient,
    node: process.version,
    cores: availableParallelism(),
    capacityPerSecond: capacity,
    offeredPerSecond: rate,
    connections,
    seconds,
    ...memory.stop(),
    ...(deliveredBefore && { deliveredBeforePerSecond: Math.round(sum(deliveredBefore) / CALIBRATION_S) }),
  });
  const targets = targetsOf(summary);
  print(result, summary, targets);
  const out = process.env.OUT ?? '.';
  await mkdir(out, { recursive: true });
  await writeFile(join(out, 'overload.json'), `${JSON.stringify({ ...summary, targets, ...result }, null, 1)}\n`);
  await writeFile(join(out, 'overload.svg'), chartOf(result.loud.seconds, summary));
  await writeFile(join(out, 'overload.md'), describe(result, summary, targets));
  return targets.every(({ isMet }) => isMet);
}

async function addressOf(child) {
  for await (const line of createInterface({ input: child.stderr })) {
    const { msg, url } = JSON.parse(line);
    if (msg !== 'listening') continue;
    child.stderr.resume();
    return url;
  }
  throw new Error('the service has ended');
}

/** By the commands of an operator. */
async function anotherAccount() {
  const run = async (...args) => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { PATH: process.env.PATH, DATA_DIR: dataDir },
    });
    let text = '';
    for await (const chunk of child.stdout) text += chunk;
    return text;
  };
  const [account] = (await run('account', 'create', '--name', 'quiet', '--plan', 'pro')).match(/[0-9a-f]{24}/) ?? [];
  const [key] = (await run('key', 'create', '--account', account)).match(/jf_\w+/) ?? [];
  if (key === undefined) throw new Error('no second account');
  return key;
}

async function target(url, apiKey, webhookUrl) {
  const response = await fetch(`${url}/v1/queues`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'overload', webhookUrl, concurrency: 100 }),
  });
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port), apiKey };
}

/** Resident memory of the service, looked at twice a second. */
function watchMemory(pid) {
  let [first, most] = [0, 0];
  const look = async () => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    const mib = Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    first ||= mib;
    most = Math.max(most, mib);
  };
  void look();
  const timer = setInterval(look, 500);
  return {
    stop() {
      clearInterval(timer);
      return { memoryBeforeMiB: first, memoryAtMostMiB: most };
    },
  };
}
