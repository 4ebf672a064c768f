import { hash, randomBytes } from 'node:crypto';

/** Marks the secrets of sessions and sign-in links, for people and for secret scanners. */
const PREFIXES = { session: 'jfs_', link: 'jfl_' } as const;
const FORM = /^jf[sl]_[A-Za-z0-9_-]{43}$/;

/** Returns a new secret of 256 random bits. */
export function generateToken(kind: keyof typeof PREFIXES): string {
  return PREFIXES[kind] + randomBytes(32).toString('base64url');
}

/** Whether the text has the form of such a secret. Other texts are refused without a query. */
export function isPlausibleToken(kind: keyof typeof PREFIXES, text: string): boolean {
  return text.startsWith(PREFIXES[kind]) && FORM.test(text);
}

/** Returns what the database stores of a secret. Its bits are random, so a fast hash is enough. */
export function hashToken(token: string): string {
  return hash('sha256', token);
}
