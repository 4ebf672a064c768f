import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DONE = new Set<string>();

/** `dist/main.js`, built if the sources have changed since the last build. */
export function builtService(): string {
  buildBy('scripts/build.mjs');
  return `${ROOT}dist/main.js`;
}

/** The folder with the ES modules of `packages/client`, built if their sources have changed. */
export function builtClient(): string {
  buildBy('scripts/client/build.mjs');
  return `${ROOT}packages/client/dist/esm/client`;
}

/** Once in a process: the script compares a hash of all sources, which takes some tenths of a second. */
function buildBy(script: string): void {
  if (DONE.has(script)) return;
  execFileSync(process.execPath, [script], { cwd: ROOT, stdio: 'inherit' });
  DONE.add(script);
}
