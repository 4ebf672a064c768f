import type { ZodTypeAny, z } from 'zod';
import { type FieldErrors, notFound } from '../domain/errors.ts';
import { isId } from '../domain/id.ts';
import { typed, ValidationError } from './errors.ts';

/** Runs a mutation; expected refusals become the types that its result's union names. */
export async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw typed(error);
  }
}

/**
 * Reads input with the schema of the REST body, so that both accept the same and say the same.
 * @throws ValidationError
 */
export function checked<Schema extends ZodTypeAny>(schema: Schema, input: unknown): z.output<Schema> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const { formErrors, fieldErrors } = parsed.error.flatten();
  const fields = Object.fromEntries(Object.entries(fieldErrors).map(([field, messages]) => [field, messages ?? []]));
  throw new ValidationError(reasonOf(formErrors, fields), formErrors, fields);
}

/** What is wrong, in one line for those who read no further. */
function reasonOf(formErrors: readonly string[], fields: FieldErrors): string {
  const ofFields = Object.entries(fields).map(([field, messages]) => `${field}: ${messages.join(', ')}`);
  return `the input is not valid: ${[...formErrors, ...ofFields].join('; ')}`;
}

/** An id that the database can be asked for. @throws JobferryError `not_found` */
export function idOf(text: string, what: Parameters<typeof notFound>[0]): string {
  if (!isId(text)) throw notFound(what);
  return text;
}

/** GraphQL's `null` for "not given" where REST leaves the field out. */
export function withoutNulls<T extends object>(input: T, keep: readonly (keyof T)[] = []): Partial<T> {
  const entries = Object.entries(input).filter(([name, value]) => value !== null || keep.includes(name as keyof T));
  return Object.fromEntries(entries) as Partial<T>;
}
