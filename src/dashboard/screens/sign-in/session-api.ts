import { urlOf } from '../../graphql/client.ts';

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
    if (response.status !== 401) return `The server answered ${response.status}. Try again in a moment.`;
    return 'link' in secret
      ? 'This link was used before, or is too old. Start Jobferry again for a new one, or sign in below.'
      : 'This key is not valid: it may be misspelt, or revoked.';
  } catch {
    return 'The server could not be reached.';
  }
}

/** Ends the session on the server, and in this browser. */
export async function closeSession(): Promise<void> {
  await fetch(urlOf('session'), { method: 'DELETE', credentials: 'same-origin' });
}

/** What a failed sign-in with the provider says of itself: `sign-in?error=<code>`. */
const PROVIDER_ERRORS: Readonly<Record<string, string>> = {
  access_denied: 'The provider refused the sign-in.',
  no_role: 'You are known to the provider, but have no role here. Ask an administrator of Jobferry.',
  unavailable: 'The provider could not be reached. Try again in a moment.',
};

export function textOfProviderError(code: string): string {
  return PROVIDER_ERRORS[code] ?? 'The sign-in with the provider failed. Try again.';
}
