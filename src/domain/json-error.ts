const SPACE = /[ \t\n\r]*/y;
const SCALAR = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null/y;
/** A string without its closing quote: ends before that, or before what no string may contain. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in strings.
const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*/y;

type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end';

/**
 * Returns the index up to which a text that is not JSON could be the beginning of JSON. The message of `JSON.parse` has
 * no position in some versions of Node, and quotes the text.
 */
function endOfJsonIn(text: string): number {
  const ends: string[] = [];
  let expected: Expected = 'value';
  for (let at = matchAt(SPACE, text, 0); ; at = matchAt(SPACE, text, at)) {
    const char = text[at];
    if (char === undefined) return at;
    if (expected.endsWith('or end') && char === ends.at(-1)) {
      ends.pop();
      expected = 'comma or end';
      at += 1;
    } else if (expected === 'colon' || expected === 'comma or end') {
      if (char !== (expected === 'colon' ? ':' : ',') || ends.length === 0) return at;
      expected = expected === 'comma or end' && ends.at(-1) === '}' ? 'name' : 'value';
      at += 1;
    } else if (expected.startsWith('value') && (char === '{' || char === '[')) {
      ends.push(char === '{' ? '}' : ']');
      expected = char === '{' ? 'name or end' : 'value or end';
      at += 1;
    } else {
      if (expected.startsWith('name') && char !== '"') return at;
      const end = matchAt(char === '"' ? STRING : SCALAR, text, at);
      if (end === at || (char === '"' && text[end] !== '"')) return end;
      at = char === '"' ? end + 1 : end;
      expected = expected.startsWith('name') ? 'colon' : 'comma or end';
    }
  }
}

/** Returns where a match at this place ends, or the place if there is none. */
function matchAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** In words: where the text stops being JSON. Nothing of the text is repeated. */
export function jsonErrorIn(text: string): string {
  const at = endOfJsonIn(text);
  if (at === text.length) return 'it ends too early';
  let line = 1;
  let start = 0;
  for (let end = text.indexOf('\n'); end !== -1 && end < at; end = text.indexOf('\n', start)) {
    line += 1;
    start = end + 1;
  }
  const character = `character ${at - start + 1}`;
  return line === 1 ? `at ${character}` : `at line ${line}, ${character}`;
}
