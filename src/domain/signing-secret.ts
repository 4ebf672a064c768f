/**
 * A secret that is short, or that no header or variable could hold, is refused. Whether a long one is random cannot be
 * seen: a client that chooses its secret answers for it, as for any password.
 */
const FORM = /^[\x21-\x7e]{24,128}$/;

/** The beginning of an encrypted text in the database. */
export const ENCRYPTED = 'enc:';

/** Returns what is wrong with a signing secret that a client has chosen; null for a good one. */
export function signingSecretProblem(secret: string): string | null {
  if (!FORM.test(secret)) return 'must be 24 to 128 printable ASCII characters without spaces';
  // Without ENCRYPTION_KEY it would be stored as it is, and no process would start for lack of the key that it names.
  return secret.startsWith(ENCRYPTED) ? `must not begin with ${ENCRYPTED}` : null;
}
