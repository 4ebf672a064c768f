/**
 * Why a sign-in with the OpenID provider failed, by the code in `sign-in?error=CODE`, and what to do about it. The
 * codes are those of the server; a test compares them.
 */
export const SIGN_IN_FAILURES: Readonly<Record<string, string>> = {
  provider_unavailable:
    'The sign-in provider does not answer. Try again in a minute. If this continues, contact an administrator.',
  refused: 'The sign-in provider refused the sign-in, or it was cancelled there. Try again, or ask for access there.',
  invalid:
    'The answer of the sign-in provider was not valid. Try again. If this continues, an administrator can find the reason in the log of Jobferry.',
  expired:
    'This sign-in took longer than 10 minutes, began in another browser, or was completed before. Start it again.',
  no_role:
    'The sign-in provider knows you, but you have no role in Jobferry. Ask an administrator for one, then sign in again.',
  too_many_members: 'The limit of members is reached, so no further person can sign in. Contact an administrator.',
  too_many_failures: 'Too many sign-ins. Wait a minute, then try again.',
};

export function textOfSignInFailure(code: string): string {
  return Object.hasOwn(SIGN_IN_FAILURES, code)
    ? (SIGN_IN_FAILURES[code] as string)
    : 'The sign-in with the provider failed. Try again.';
}
