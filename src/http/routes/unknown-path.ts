import { contract } from '../../contract/index.ts';
import { HttpRefusal } from '../errors.ts';

/** The methods of each path of the contract. */
const PATHS = new Map<string, { pattern: RegExp; methods: string[] }>();
for (const routes of Object.values(contract)) {
  for (const { path, method } of Object.values(routes as Record<string, { path: string; method: string }>)) {
    // Publish and list differ only in what they call the queue.
    const form = path.replace(/:\w+/g, '[^/]+');
    const known = PATHS.get(form) ?? { pattern: new RegExp(`^${form}$`), methods: [] };
    known.methods.push(method);
    PATHS.set(form, known);
  }
}

/** A path or a method that there is not: 404 in either case (D22). The message says what may have been meant. */
export function unknownPath({ method, path }: { method: string; path: string }): HttpRefusal {
  const meant = methodsOf(path);
  if (meant !== undefined) return new HttpRefusal(404, `not found: this path has ${meant}, not ${method}`);
  const hint = methodsOf(`/v1${path}`) === undefined ? '' : ': the paths of the API begin with /v1';
  return new HttpRefusal(404, `not found${hint}`);
}

function methodsOf(path: string): string | undefined {
  return [...PATHS.values()].find(({ pattern }) => pattern.test(path))?.methods.join(' and ');
}
