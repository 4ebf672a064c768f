import { describe, expect, it } from 'vitest';
import { causeOf, shortCause } from '../../packages/dashboard/words/cause.ts';

describe.each(['constructor', '__proto__', 'toString'])('the name %s, which every object inherits', (name) => {
  it('is the text of the worker when it is the reason of a nack', () => {
    expect(causeOf(name, 15)).toBe(`the worker said “${name}”`);
    expect(shortCause(name)).toBe(name);
  });
});
