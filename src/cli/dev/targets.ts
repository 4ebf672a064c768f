import { parsedUrl } from '../../domain/parsed-url.ts';
import { LIMITS } from '../../domain/queue.ts';

/** A URL on the developer's machine, and the queue whose deliveries go there. */
export interface Target {
  queue: string;
  url: URL;
}

/** Name of the queue of a URL without a path. */
const ROOT_QUEUE = 'dev';

/**
 * Reads URLs that are separated by commas, each of which gets a queue with the name of its path.
 * @throws Error with a sentence for people
 */
export function targetsOf(forward: string): Target[] {
  const targets = forward.split(',').map((text) => {
    const url = parsedUrl(text.trim());
    if (url === null || !/^https?:$/.test(url.protocol)) {
      throw new Error(`--forward must have URLs such as http://localhost:3000/jobs, not "${text.slice(0, 100)}"`);
    }
    return { queue: queueOf(url), url };
  });
  const names = targets.map(({ queue }) => queue);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw new Error(`--forward has two URLs for the queue ${twice}: its name is that of the path`);
  return targets;
}

function queueOf({ pathname }: URL): string {
  const name = pathname
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, LIMITS.queueNameLength);
  return name === '' ? ROOT_QUEUE : name;
}
