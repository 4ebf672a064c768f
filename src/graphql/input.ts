import type { ZodTypeAny, z } from 'zod';
import { type FieldErrors, notFound } from '../domain/errors.ts';
import { isId } from '../domain/id.ts';
import { typed, ValidationError } from './errors.ts';

/** Runs a mutation. Expected refusals become the types of the result's union. */
export async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw typed(error);
  }
}

/**
 * Checks input with the schema of the REST body, so that both APIs accept the same values and send the same messages.
 * @throws ValidationError
 */
export function checked<Schema extends ZodTypeAny>(schema: Schema, input: unknown): z.output<Schema> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const { formErrors, fieldErrors } = parsed.error.flatten();
  const fields = Object.fromEntries(Object.entries(fieldErrors).map(([field, messages]) => [field, messages ?? []]));
  throw new ValidationError(reasonOf(formErrors, fields), formErrors, fields);
}

/** Returns all problems in one line, for clients that read only the message. */
function reasonOf(formErrors: readonly string[], fields: FieldErrors): string {
  const ofFields = Object.entries(fields).map(([field, messages]) => `${field}: ${messages.join(', ')}`);
  return `the input is not valid: ${[...formErrors, ...ofFields].join('; ')}`;
}

/** Returns the text if it has the form of an id. @throws JobferryError `not_found` */
export function idOf(text: string, what: Parameters<typeof notFound>[0]): string {
  if (!isId(text)) throw notFound(what);
  return text;
}

/** Removes null members: in GraphQL null means "not given", and REST leaves such fields out. */
export function withoutNulls<T extends object>(input: T, keep: readonly (keyof T)[] = []): Partial<T> {
  const entries = Object.entries(input).filter(([name, value]) => value !== null || keep.includes(name as keyof T));
  return Object.fromEntries(entries) as Partial<T>;
}
