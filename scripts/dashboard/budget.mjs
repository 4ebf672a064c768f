// The size of the dashboard, as gzip sends it. A build that is over a limit fails.
import { statSync } from 'node:fs';
import { join } from 'node:path';

const KB = 1024;
/** Bytes of script for one route with all that it imports, of all scripts together, and of all style sheets. */
const LIMITS = { route: 81 * KB, scripts: 204 * KB, styles: 15 * KB };

/**
 * @typedef {{file: string, isEntry?: boolean, imports?: string[], dynamicImports?: string[], css?: string[]}} Chunk
 */

/**
 * Throws if the build in `folder` is over a limit; else returns a line with the sizes.
 *
 * @param {string} folder
 * @param {Record<string, Chunk>} manifest
 */
export function assertWithinBudget(folder, manifest) {
  const size = (file) => statSync(join(folder, `${file}.gz`)).size;
  const total = (files) => [...files].reduce((sum, file) => sum + size(file), 0);

  const [entry] = Object.values(manifest).filter(({ isEntry }) => isEntry === true);
  const shell = scriptsOf(entry, manifest);
  const routes = (entry.dynamicImports ?? []).map((name) => ({
    name,
    bytes: total(new Set([...shell, ...scriptsOf(manifest[name], manifest)])),
  }));
  const largest = routes.reduce((a, b) => (b.bytes > a.bytes ? b : a), { name: 'shell', bytes: total(shell) });
  const chunks = Object.values(manifest);
  const scripts = total(new Set(chunks.map(({ file }) => file).filter((file) => file.endsWith('.js'))));
  const styles = total(
    new Set(chunks.flatMap(({ file, css = [] }) => [file, ...css]).filter((file) => file.endsWith('.css'))),
  );

  const over = [
    [`script of the route ${largest.name}`, largest.bytes, LIMITS.route],
    ['all scripts', scripts, LIMITS.scripts],
    ['all style sheets', styles, LIMITS.styles],
  ].filter(([, bytes, limit]) => bytes > limit);
  if (over.length > 0) {
    const texts = over.map(([what, bytes, limit]) => `${what}: ${inKB(bytes)}, at most ${inKB(limit)}`);
    throw new Error(`The dashboard is too large (gzip). ${texts.join('; ')}`);
  }
  return `largest route ${inKB(largest.bytes)} (${largest.name}), scripts ${inKB(scripts)}, styles ${inKB(styles)}, gzip`;
}

/** The files of a chunk and of all that it imports at once. */
function scriptsOf(chunk, manifest, found = new Set()) {
  if (found.has(chunk.file)) return found;
  found.add(chunk.file);
  for (const name of chunk.imports ?? []) scriptsOf(manifest[name], manifest, found);
  return found;
}

function inKB(bytes) {
  return `${(bytes / KB).toFixed(1)} KB`;
}
