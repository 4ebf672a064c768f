/** A secret that is easy to guess, or that no header or variable could hold, is refused. */
const FORM = /^[\x21-\x7e]{24,128}$/;

/** Returns what is wrong with a signing secret that a client has chosen; null for a good one. */
export function signingSecretProblem(secret: string): string | null {
  return FORM.test(secret) ? null : 'must be 24 to 128 printable ASCII characters without spaces';
}
