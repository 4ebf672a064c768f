import { expect } from 'vitest';

/** Matchers for the shapes of answers in the spec. */

export const ID = expect.stringMatching(/^[0-9a-f]{24}$/);
/** An id of the right form that nothing has. */
export const UNKNOWN_ID = 'f'.repeat(24);
export const DATE_TIME = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);

/** Spec "Errors": every refusal but that of a body of publish, create and update. */
export const refusal = { error: expect.stringMatching(/\S/) };

/** Spec "Errors": a 400 of publish, create and update that is about these fields and no others. */
export function fieldRefusal(...fields: string[]): object {
  const messages = [expect.stringMatching(/\S/)];
  return { error: { formErrors: [], fieldErrors: Object.fromEntries(fields.map((field) => [field, messages])) } };
}

/** A refusal of the body as a whole. */
export const formRefusal = { error: { formErrors: [expect.stringMatching(/\S/)], fieldErrors: {} } };
