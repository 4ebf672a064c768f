/** Checks for mistakes of a program that no answer would name. They cost time, so production does without them. */
export function checksForMistakes(): boolean {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env !== undefined && process.env.NODE_ENV !== 'production';
}

/** JSON writes these as `{}`, whatever they contain. */
const LOST = [Map, Set, Promise];

/**
 * Types cannot refuse such a member: a payload may have any type, also an interface, which has no index signature.
 * @throws TypeError outside production, for a payload that would arrive without a part of it
 */
export function refuseLostParts(payload: unknown): void {
  if (!checksForMistakes()) return;
  JSON.stringify(payload, (name, value: unknown) => {
    const lost = LOST.find((kind) => value instanceof kind);
    if (lost === undefined) return value;
    throw new TypeError(
      `${name === '' ? 'the payload' : `${name} in the payload`} is a ${lost.name}, which JSON writes as {}`,
    );
  });
}
