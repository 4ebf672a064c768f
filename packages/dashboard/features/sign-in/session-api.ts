import { urlOf } from '../../api/client.ts';

export interface Methods {
  apiKey: boolean;
  oidc: { name: string } | null;
}

/** Whether this browser has a session, and how one can sign in. */
export async function readSession(): Promise<{ signedIn: boolean; methods: Methods }> {
  const response = await fetch(urlOf('session'), {
    headers: { accept: 'application/json' },
    credentials: 'same-origin',
  });
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  return (await response.json()) as { signedIn: boolean; methods: Methods };
}

/** Exchanges a key or the token of a one-time link for a session. Returns why that was refused; null if it was not. */
export async function openSession(secret: { apiKey: string } | { link: string }): Promise<string | null> {
  try {
    const response = await fetch(urlOf('session'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(secret),
      credentials: 'same-origin',
    });
    if (response.ok) return null;
    if (response.status === 429) return 'Too many attempts. Wait a minute, and try again.';
    // The server says which setting is wrong: PUBLIC_URL, or OIDC_ONLY.
    if (response.status === 403) return `Blocked: ${await reasonOf(response)}.`;
    if (response.status !== 401) return `The server answered ${response.status}. Try again in a moment.`;
    return 'link' in secret
      ? 'This link was used before or has expired. Print a new one on the server, or sign in below.'
      : 'This key is not valid: it may be mistyped or revoked.';
  } catch {
    return 'The server could not be reached.';
  }
}

async function reasonOf(response: Response): Promise<string> {
  const { error } = (await response.json().catch(() => ({}))) as { error?: string };
  return error ?? 'the server refused it';
}
