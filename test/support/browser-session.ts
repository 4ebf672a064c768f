/** A browser of the tests: it keeps the cookie of its session, and sends what the dashboard sends. */
export interface BrowserSession {
  /** The Cookie header. */
  cookie: string;
  /** Headers of a request from a page of the dashboard. */
  headers: Record<string, string>;
}

export function sessionHeaders(baseUrl: string, cookie: string): BrowserSession {
  const { origin } = new URL(baseUrl);
  return { cookie, headers: { cookie, origin, 'jobferry-dashboard': '1', 'content-type': 'application/json' } };
}

/** Signs in at a server, for use at any server of the same host and port. */
export async function signIn(baseUrl: string, credential: { apiKey: string } | { link: string }) {
  const response = await fetch(`${baseUrl}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: new URL(baseUrl).origin },
    body: JSON.stringify(credential),
  });
  if (response.status !== 204) throw new Error(`signing in answered ${response.status}: ${await response.text()}`);
  const [pair = ''] = (response.headers.get('set-cookie') ?? '').split(';');
  return sessionHeaders(baseUrl, pair);
}
