import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEndOfFile } from './end-of-file.ts';
import { lastingPort } from './lasting-port.ts';
import { waitFor } from './wait-for.ts';

/** Whether this machine has Prometheus with its tool, as in the package `prometheus` of Debian. */
export const hasPrometheus = ['prometheus', 'promtool'].every(
  (program) => spawnSync(program, ['--version']).error === undefined,
);

/** @returns what promtool prints @throws Error with its output if it does not succeed */
export function promtool(args: readonly string[], options: { input?: string; cwd?: string } = {}): string {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', ...options });
  // 3: lint found something, which the caller judges.
  if (status !== 0 && status !== 3) throw new Error(`promtool ${args.join(' ')}:\n${stdout}${stderr}`);
  return stdout + stderr;
}

export interface Prometheus {
  /** @returns the value of each series of the result */
  query(text: string): Promise<number[]>;
  /** @returns the `data` of an answer of its API */
  get<Data>(path: string): Promise<Data>;
}

interface Target {
  /** Base address of the pages. */
  url: string;
  token?: string;
}

/** A real Prometheus that scrapes the targets every second. It ends with the test file. */
export async function startPrometheus(targets: readonly Target[], rules: readonly string[]): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-prometheus-'));
  const port = await lastingPort();
  const jobs = targets.map(({ url, token }, n) => ({
    job_name: `jobferry-${n}`,
    static_configs: [{ targets: [new URL(url).host] }],
    ...(token === undefined ? {} : { authorization: { credentials: token } }),
  }));
  const every = { scrape_interval: '1s', evaluation_interval: '1s' };
  // JSON is YAML.
  const file = join(folder, 'prometheus.yml');
  await writeFile(file, JSON.stringify({ global: every, rule_files: rules, scrape_configs: jobs }));
  const program = spawn(
    'prometheus',
    [`--config.file=${file}`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=127.0.0.1:${port}`],
    { stdio: 'ignore' },
  );
  const ended = new Promise((resolve) => program.once('close', resolve));
  atEndOfFile(async () => {
    program.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true });
  });
  const get = async <Data>(path: string): Promise<Data> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    return ((await answer.json()) as { data: Data }).data;
  };
  await waitFor(async () => (await fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => null))?.ok, {
    message: 'Prometheus',
  });
  return {
    get,
    query: async (text) => {
      const { result } = await get<{ result: { value: [number, string] }[] }>(
        `query?query=${encodeURIComponent(text)}`,
      );
      return result.map(({ value }) => Number(value[1]));
    },
  };
}
