import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { READY_QUERIES } from './queries.ts';

/**
 * A script of the GraphiQL page, which sends requests to no other host. The key stays in the tab's session storage, and
 * is added only to requests to the address of the page.
 */
const KEY_SCRIPT = `
(() => {
  const STORE = 'jobferry-api-key';
  // GraphiQL opens an additional empty tab if the stored query of the last tab is missing.
  const state = JSON.parse(localStorage.getItem('graphiql:tabState') ?? 'null');
  const tab = state?.tabs?.[state.activeTabIndex];
  if (tab && localStorage.getItem('graphiql:query') === null) {
    localStorage.setItem('graphiql:query', tab.query ?? '');
    localStorage.setItem('graphiql:variables', tab.variables ?? '');
  }
  const plainFetch = window.fetch.bind(window);
  // For a response that is not GraphQL JSON, GraphiQL shows a stack trace; a new visitor has no key yet.
  const askForKey = (message) =>
    new Response(JSON.stringify({ errors: [{ message }] }), { headers: { 'content-type': 'application/json' } });
  window.fetch = async (input, init = {}) => {
    const key = sessionStorage.getItem(STORE);
    const url = new URL(input instanceof Request ? input.url : input, location.href);
    if (url.origin !== location.origin || url.pathname !== location.pathname) return plainFetch(input, init);
    if (!key) return askForKey('Paste an API key into the field above.');
    const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
    if (!headers.has('authorization')) headers.set('authorization', 'Bearer ' + key);
    const response = await plainFetch(input, { ...init, headers });
    return response.status === 401 ? askForKey('This API key is not valid: paste another one above.') : response;
  };
  addEventListener('DOMContentLoaded', () => {
    const field = document.getElementById('api-key');
    field.value = sessionStorage.getItem(STORE) ?? '';
    document.getElementById('api-key-form').addEventListener('submit', (event) => {
      event.preventDefault();
      const key = field.value.trim();
      if (key === '') sessionStorage.removeItem(STORE);
      else sessionStorage.setItem(STORE, key);
      location.reload(); // GraphiQL requests the schema only once, and that needs a key
    });
    if (field.value === '') field.focus();
  });
})();`;

const KEY_BAR = `
<style>
  body { display: flex; flex-direction: column; height: 100vh; margin: 0; }
  #root { flex: 1; min-height: 0; overflow: hidden; }
  #root .graphiql-container { height: 100%; }
  #api-key-form { display: flex; gap: 8px; align-items: center; padding: 8px 12px; font: 14px system-ui, sans-serif;
    background: #1b2240; color: #fff; }
  #api-key-form input { flex: 1; max-width: 32rem; padding: 4px 8px; font: 13px ui-monospace, monospace; border: 0;
    border-radius: 4px; }
  #api-key-form button { padding: 4px 12px; border: 0; border-radius: 4px; cursor: pointer; }
</style>
<form id="api-key-form" autocomplete="off">
  <label for="api-key">API key</label>
  <input id="api-key" type="password" placeholder="jf_…" spellcheck="false">
  <button>Use it</button>
  <span>It stays in this tab.</span>
</form>
<script>${KEY_SCRIPT}</script>`;

interface Page {
  plain: Buffer;
  gzipped: Buffer;
  policy: string;
}

export function explorerPage(): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  let built: Promise<Page> | null = null;
  return async (req, res) => {
    built ??= build();
    const page = await built;
    const zipped = /\bgzip\b/.test(req.headers['accept-encoding'] ?? '');
    const body = zipped ? page.gzipped : page.plain;
    res.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-length': body.length,
      ...(zipped ? { 'content-encoding': 'gzip' } : {}),
      vary: 'accept-encoding',
      'content-security-policy': page.policy,
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
    });
    res.end(req.method === 'HEAD' ? undefined : body);
  };
}

async function build(): Promise<Page> {
  // The module has 9 MB and takes several times that in memory, and most processes never serve the page.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const html = renderGraphiQL({
    // Without `endpoint`, requests go to the address of the page, which may be below a path prefix.
    title: 'Jobferry GraphQL',
    subscriptionsProtocol: 'SSE',
    method: 'POST',
    defaultTabs: READY_QUERIES.map(({ query, variables }) => ({
      query,
      variables: variables === undefined ? null : JSON.stringify(variables, null, 2),
    })),
  }).replace(/<body[^>]*>/, (body) => `${body}${KEY_BAR}`);
  const plain = Buffer.from(html);
  return { plain, gzipped: gzipSync(plain), policy: policyOf(html) };
}

/** Allows only the scripts in the page, and connections only to this server. */
function policyOf(html: string): string {
  const scripts = [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(
    ([, script = '']) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`,
  );
  return [
    "default-src 'none'",
    `script-src ${scripts.join(' ')}`,
    'worker-src blob:',
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
