import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { atEndOfFile } from '../../../test/support/end-of-file.ts';

/** Cloudflare's runtime. */

// Not imported: the types of the packages of this folder are there only where it is installed.
const require = createRequire(import.meta.url);
/** Path of the program. */
const { default: workerd } = require('workerd') as { default: string };
const { build } = require('esbuild') as { build(options: object): Promise<object> };

const text = (value: string) => JSON.stringify(value);

function configuration(variables: Record<string, string>): string {
  const bindings = Object.entries(variables).map(([name, value]) => `(name = ${text(name)}, text = ${text(value)})`);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker), (name = "internet", network = (allow = ["local", "private"]))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-04-01",
  bindings = [${bindings.join(', ')}],
);
`;
}

export interface WorkerSource {
  script: string;
  /** Folder where the packages that the script imports are looked up. */
  resolveDir: string;
  /** Files in place of packages. */
  alias?: Record<string, string>;
}

/** Starts a Worker, and returns its address. It ends with the test file. */
export async function startWorker(
  { script, resolveDir, alias = {} }: WorkerSource,
  variables: Record<string, string>,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-worker-'));
  atEndOfFile(() => rm(folder, { recursive: true }));
  await build({
    stdin: { contents: script, resolveDir },
    outfile: join(folder, 'worker.js'),
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    external: ['cloudflare:workers'],
    alias,
  });
  await writeFile(join(folder, 'config.capnp'), configuration(variables));
  // workerd writes the port to descriptor 3.
  const child = spawn(workerd, ['serve', '--control-fd=3', join(folder, 'config.capnp')], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  });
  atEndOfFile(() => child.kill('SIGKILL'));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`workerd ended with ${code}`)));
    createInterface({ input: child.stdio[3] as Readable }).on('line', (line) => {
      const { event, port } = JSON.parse(line) as { event: string; port?: number };
      if (event === 'listen') resolve(`http://127.0.0.1:${port}`);
    });
  });
}
