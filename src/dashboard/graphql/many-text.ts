/** Mutations that take one id, and can be sent for several at once. */
export type ManyField = 'runNow' | 'cancelJob' | 'replayDeadLetter';

/** The server takes no more aliases in one request. */
export const MAX_MANY = 30;

/** One request with an alias for each id. Its text depends on their number, so it has no static type. */
export function manyText(field: ManyField, count: number): string {
  const numbers = Array.from({ length: count }, (_, n) => n);
  const variables = numbers.map((n) => `$id${n}: ID!`).join(', ');
  const fields = numbers.map((n) => `m${n}: ${field}(id: $id${n}) { ... on Error { message } }`).join(' ');
  return `mutation Many(${variables}) { ${fields} }`;
}
