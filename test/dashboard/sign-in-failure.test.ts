import { expect, it } from 'vitest';
import {
  SIGN_IN_FAILURES,
  textOfSignInFailure,
} from '../../packages/dashboard/features/sign-in/model/sign-in-failure.ts';
import { SIGN_IN_FAILURE_CODES } from '../../src/services/oidc/provider.ts';

it('the sign-in page has a sentence for each failure that the server names, and for no other', () => {
  expect(Object.keys(SIGN_IN_FAILURES).sort()).toEqual([...SIGN_IN_FAILURE_CODES].sort());
});

it.each(SIGN_IN_FAILURE_CODES)('the sentence of %s says what to do', (code) => {
  const text = textOfSignInFailure(code);
  expect(text).toMatch(/\b(try again|start it again|sign in again|contact an administrator)\b.*\.$/i);
  expect(text).not.toContain('_');
});

it.each(['', 'constructor', '<b>other</b>'])('the code %j gets a sentence that does not repeat it', (code) => {
  expect(textOfSignInFailure(code)).toBe('The sign-in with the provider failed. Try again.');
});
