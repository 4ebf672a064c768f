import type { RequestListener } from 'node:http';

/**
 * Removes the path of PUBLIC_URL from requests that have it. So Jobferry works behind a proxy that removes the prefix,
 * and behind one that passes it on.
 * @param basePath with a slash at its end
 */
export function withoutPrefix(basePath: string): (answer: RequestListener) => RequestListener {
  const prefix = basePath.slice(0, -1);
  return (answer) => (req, res) => {
    const url = req.url ?? '/';
    if (url.startsWith(basePath)) req.url = url.slice(prefix.length);
    else if (url === prefix || url.startsWith(`${prefix}?`)) req.url = `/${url.slice(prefix.length)}`;
    answer(req, res);
  };
}
