import { spawn, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEndOfFile } from './end-of-file.ts';
import { lastingPort } from './lasting-port.ts';
import { waitFor } from './wait-for.ts';

const PROGRAM = 'pgbouncer';
/** It refuses to run as root, and can change to a user that exists everywhere. */
const USER = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];

/** For `describe.skipIf`: PgBouncer is a program of the system, and not of npm. */
export const hasNoPgBouncer =
  spawnSync(PROGRAM, ['--version'], { env: { PATH: `${process.env.PATH}:/usr/sbin` } }).status !== 0;

interface Options {
  mode: 'transaction' | 'session' | 'statement';
  /** SQL for each new connection to the server. */
  connectQuery?: string;
  /** Parameters that PgBouncer drops instead of refusing the client. */
  ignored?: string;
}

/** Starts a PgBouncer before the server of a database. @returns the URL of the database through it */
export async function startPgBouncer(databaseUrl: string, { mode, connectQuery, ignored }: Options): Promise<string> {
  const url = new URL(databaseUrl);
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-pgbouncer-'));
  const port = await lastingPort();
  const password = url.password === '' ? '' : ` password=${decodeURIComponent(url.password)}`;
  const first = connectQuery === undefined ? '' : ` connect_query='${connectQuery}'`;
  const lines = [
    '[databases]',
    `* = host=${url.hostname} port=${url.port} user=${decodeURIComponent(url.username)}${password}${first}`,
    '[pgbouncer]',
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', 'auth_type = any'],
    // Few, so that clients change their sessions all the time.
    ...[`pool_mode = ${mode}`, 'default_pool_size = 4', 'max_client_conn = 200'],
    ...(ignored === undefined ? [] : [`ignore_startup_parameters = ${ignored}`]),
  ];
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(file, `${lines.join('\n')}\n`);
  await chmod(folder, 0o755);
  const said: string[] = [];
  const child = spawn(PROGRAM, [...USER, file], {
    env: { PATH: `${process.env.PATH}:/usr/sbin` },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  atEndOfFile(async () => {
    child.kill('SIGKILL');
    await exited;
    await rm(folder, { recursive: true, force: true });
  });
  await waitFor(() => canConnect(port), { message: 'PgBouncer' }).catch((error: unknown) => {
    throw new Error(`PgBouncer did not start: ${said.join('')}`, { cause: error });
  });
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return url.href;
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' });
    const end = (connected: boolean) => {
      socket.destroy();
      resolve(connected);
    };
    socket.once('connect', () => end(true)).once('error', () => end(false));
  });
}
