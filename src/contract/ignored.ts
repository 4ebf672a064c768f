import type { AppRoute } from '@ts-rest/core';
import { z } from 'zod';
import { isMisspelt } from '../domain/spelling.ts';

/** The parts of a request in which the contract ignores unknown names (D24). */
interface Given {
  query: unknown;
  body: unknown;
}

/** Names that other services have for these members and parameters, in lower case without separators. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  scheduledfor: 'delay',
  scheduledat: 'delay',
  runat: 'delay',
  delayseconds: 'delay',
  delayms: 'delay',
  data: 'payload',
  body: 'payload',
  key: 'idempotencyKey',
  dedupekey: 'idempotencyKey',
  url: 'webhookUrl',
  endpoint: 'webhookUrl',
  retries: 'maxAttempts',
  attempts: 'maxAttempts',
  ratelimit: 'rateLimitMax',
  backoff: 'backoffType',
  ids: 'jobIds',
  pagesize: 'limit',
  offset: 'page',
};

/** Longer names are cut, so that an error or a header never repeats all that a client sent. */
const MAX_NAME_LENGTH = 40;
const MAX_NAMES = 5;

/**
 * Returns the members of the body and the query parameters that the route ignores, each with the known name that was
 * probably meant, as a text such as `scheduledFor (did you mean delay?)`; null if there are none. The text is printable
 * ASCII.
 */
export function ignoredIn(route: AppRoute, { query, body }: Given): string | null {
  const known = knownOf(route);
  const ignored = [...unknownIn(query, known.query), ...unknownIn(body, known.body)];
  if (ignored.length === 0) return null;
  const more = ignored.length > MAX_NAMES ? [`and ${ignored.length - MAX_NAMES} more`] : [];
  return [...ignored.slice(0, MAX_NAMES).map(([name, names]) => described(name, names)), ...more].join(', ');
}

/** Returns each unknown name with the known ones. A body can have a hundred thousand, so none is described here. */
function unknownIn(given: unknown, known: ReadonlySet<string> | null): [name: string, known: ReadonlySet<string>][] {
  if (known === null || typeof given !== 'object' || given === null || Array.isArray(given)) return [];
  const unknown: [string, ReadonlySet<string>][] = [];
  for (const name of Object.keys(given)) if (!known.has(name)) unknown.push([name, known]);
  return unknown;
}

function described(name: string, known: ReadonlySet<string>): string {
  const shown = name.slice(0, MAX_NAME_LENGTH).replace(/[^!-'*+\--~]/g, '?');
  const meant = name.length > MAX_NAME_LENGTH ? undefined : meantBy(name, known);
  return meant === undefined ? shown : `${shown} (did you mean ${meant}?)`;
}

function meantBy(name: string, known: ReadonlySet<string>): string | undefined {
  const plain = plainly(name);
  const other = OTHER_NAMES[plain];
  if (other !== undefined && known.has(other)) return other;
  return [...known].find((one) => isMisspelt(plain, plainly(one)));
}

function plainly(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}

interface Known {
  query: ReadonlySet<string> | null;
  body: ReadonlySet<string> | null;
}

const knownOfRoutes = new WeakMap<AppRoute, Known>();

function knownOf(route: AppRoute): Known {
  const earlier = knownOfRoutes.get(route);
  if (earlier !== undefined) return earlier;
  const query = membersOf(route.query) ?? new Set<string>();
  const body = 'body' in route ? membersOf(route.body) : null;
  // A client that changes a queue may send the whole document that it got, with the members that cannot be changed.
  const shown = route.method === 'PUT' ? [...(membersOf(route.responses[200]) ?? []), 'signingSecret'] : [];
  const known = { query, body: body && new Set([...body, ...shown]) };
  knownOfRoutes.set(route, known);
  return known;
}

/** The names that an object schema has; null for another schema. */
function membersOf(schema: unknown): ReadonlySet<string> | null {
  if (schema instanceof z.ZodEffects) return membersOf(schema.innerType());
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return membersOf(schema._def.innerType);
  return schema instanceof z.ZodObject ? new Set(Object.keys(schema.shape)) : null;
}
