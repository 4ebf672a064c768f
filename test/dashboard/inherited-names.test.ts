import { describe, expect, it } from 'vitest';
import { deadSuggestions } from '../../src/dashboard/filter/dead/suggest.ts';
import { parseFilter } from '../../src/dashboard/filter/parse.ts';
import { causeOf, shortCause } from '../../src/dashboard/words/cause.ts';

describe.each(['constructor', '__proto__', 'toString'])('the name %s, which every object inherits', (name) => {
  it('is no state', () => {
    expect(parseFilter(`state:${name}`)).toMatchObject([{ word: 'unknown' }]);
  });

  it('has no values to suggest', () => {
    expect(() => deadSuggestions(`${name}:`, { queues: [], paths: [], values: [] })).not.toThrow();
  });

  it('is the text of the worker when it is the reason of a nack', () => {
    expect(causeOf(name, 15)).toBe(`the worker said “${name}”`);
    expect(shortCause(name)).toBe(name);
  });
});
