import { TURNING } from '../../../query/words/format.ts';

/**
 * Reads JSON without changing it: the tokens are positions in the source text, so numbers beyond 2^53, duplicate keys
 * and escapes stay as they were published. `JSON.parse` would change all three.
 */
export type TokenKind = 'key' | 'text' | 'number' | 'word' | 'mark';

export interface Token {
  kind: TokenKind;
  start: number;
  end: number;
  /** Containers around the token. An opening or closing mark counts as outside. */
  depth: number;
}

/** Something that other readers of the JSON may change or refuse. */
export interface Note {
  kind: 'big-number' | 'huge-number' | 'duplicate-key' | 'lone-surrogate' | 'null-character' | 'turning';
  start: number;
  end: number;
}

interface LexError {
  at: number;
  message: string;
}

/** A value, with the names and indexes that lead to it. */
export interface ValueRange {
  path: readonly string[];
  /** Start of its key, or of the value in an array. */
  start: number;
  end: number;
}

export interface Lexed {
  tokens: Token[];
  notes: Note[];
  /** Values in members and arrays, in order of their end. */
  values: ValueRange[];
  /** The first error. Tokens before it are as usual; there are none after it. */
  error: LexError | null;
}

const SPACE = /[ \t\n\r]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in texts
const TEXT = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
/** Half of a pair of surrogates without the other half. */
const LONE = /\p{Surrogate}/u;

interface Frame {
  isObject: boolean;
  keys: Set<string>;
  /** Name of the present member, or index of the present item. */
  name: string;
  index: number;
  /** Start of the present key or item. */
  from: number;
}

type Expected = 'value' | 'key-or-end' | 'key' | 'colon' | 'comma-or-end' | 'value-or-end' | 'nothing';

const WANTED: Readonly<Record<Expected, string>> = {
  value: 'a value',
  'key-or-end': 'a key in quotes, or }',
  key: 'a key in quotes',
  colon: 'a colon',
  'comma-or-end': 'a comma, or the end of the object or array',
  'value-or-end': 'a value, or ]',
  nothing: 'the end of the text',
};

export function lexJson(text: string): Lexed {
  return new Lexer(text).run();
}

class Lexer {
  readonly #text: string;
  readonly #lexed: Lexed = { tokens: [], notes: [], values: [], error: null };
  readonly #stack: Frame[] = [];
  #at = 0;
  #expected: Expected = 'value';

  constructor(text: string) {
    this.#text = text;
  }

  run(): Lexed {
    for (;;) {
      this.#match(SPACE);
      if (this.#at >= this.#text.length) break;
      if (!this.#step()) return this.#fail(`Expected ${WANTED[this.#expected]} here.`);
    }
    return this.#expected === 'nothing'
      ? this.#lexed
      : this.#fail(`The text ends, but ${WANTED[this.#expected]} must follow.`);
  }

  /** Reads one token. False if it may not stand here. */
  #step(): boolean {
    const character = this.#text[this.#at];
    switch (this.#expected) {
      case 'key':
      case 'key-or-end':
        return character === '}' && this.#expected === 'key-or-end' ? this.#close() : this.#key();
      case 'colon':
        return character === ':' && this.#mark('value');
      case 'comma-or-end':
        if (character === ',') return this.#comma();
        return (
          (character === '}') === this.#stack.at(-1)?.isObject &&
          (character === '}' || character === ']') &&
          this.#close()
        );
      case 'value':
      case 'value-or-end':
        return character === ']' && this.#expected === 'value-or-end' ? this.#close() : this.#value(character);
      case 'nothing':
        return false;
    }
  }

  #key(): boolean {
    const start = this.#at;
    if (!this.#match(TEXT)) return false;
    this.#push('key', start);
    const frame = this.#stack.at(-1);
    if (frame === undefined) return false;
    const key = JSON.parse(this.#text.slice(start, this.#at)) as string;
    if (frame.keys.has(key)) this.#note('duplicate-key', start);
    frame.keys.add(key);
    frame.name = key;
    frame.from = start;
    this.#noteText(key, start);
    this.#expected = 'colon';
    return true;
  }

  #value(character: string | undefined): boolean {
    const start = this.#at;
    const frame = this.#stack.at(-1);
    if (frame !== undefined && !frame.isObject) frame.from = start;
    if (character === '{' || character === '[') return this.#open(character === '{');
    if (this.#match(TEXT)) {
      this.#push('text', start);
      this.#noteText(JSON.parse(this.#text.slice(start, this.#at)) as string, start);
    } else if (this.#match(WORD)) {
      this.#push('word', start);
    } else if (this.#match(NUMBER)) {
      this.#push('number', start);
      this.#noteNumber(start);
    } else return false;
    this.#endValue();
    return true;
  }

  #open(isObject: boolean): boolean {
    this.#mark(isObject ? 'key-or-end' : 'value-or-end');
    this.#stack.push({ isObject, keys: new Set(), name: '', index: 0, from: this.#at });
    return true;
  }

  #close(): boolean {
    this.#stack.pop();
    this.#mark('nothing');
    this.#endValue();
    return true;
  }

  #comma(): boolean {
    const frame = this.#stack.at(-1);
    if (frame === undefined) return false;
    frame.index += 1;
    return this.#mark(frame.isObject ? 'key' : 'value');
  }

  #endValue(): void {
    const frame = this.#stack.at(-1);
    this.#expected = frame === undefined ? 'nothing' : 'comma-or-end';
    if (frame === undefined) return;
    const path = this.#stack.map(({ isObject, name, index }) => (isObject ? name : String(index)));
    this.#lexed.values.push({ path, start: frame.from, end: this.#at });
  }

  #mark(next: Expected): true {
    this.#at += 1;
    this.#push('mark', this.#at - 1);
    this.#expected = next;
    return true;
  }

  #push(kind: TokenKind, start: number): void {
    this.#lexed.tokens.push({ kind, start, end: this.#at, depth: this.#stack.length });
  }

  #noteText(value: string, start: number): void {
    if (LONE.test(value)) this.#note('lone-surrogate', start);
    if (value.includes('\0')) this.#note('null-character', start);
    if (value.search(TURNING) >= 0) this.#note('turning', start);
  }

  #noteNumber(start: number): void {
    const literal = this.#text.slice(start, this.#at);
    const value = Number(literal);
    if (!Number.isFinite(value)) this.#note('huge-number', start);
    else if (/^-?\d+$/.test(literal) && !Number.isSafeInteger(value)) this.#note('big-number', start);
  }

  #note(kind: Note['kind'], start: number): void {
    this.#lexed.notes.push({ kind, start, end: this.#at });
  }

  #match(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }

  #fail(message: string): Lexed {
    this.#lexed.error = { at: this.#at, message };
    return this.#lexed;
  }
}

/** Line and column of a position, both from 1. */
export function positionOf(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at);
  return { line: before.split('\n').length, column: at - before.lastIndexOf('\n') };
}

/**
 * The value at a path such as `items.0.sku`; a backslash escapes a dot, and `*` is any element of a list. Of several
 * values, as with duplicate keys, the last one.
 */
export function rangeOfPath({ values }: Lexed, path: string): ValueRange | null {
  const names = path.split(/(?<!\\)\./).map((name) => name.replaceAll('\\.', '.'));
  return (
    values.findLast(
      (value) =>
        value.path.length === names.length &&
        value.path.every((name, n) => name === names[n] || (names[n] === '*' && /^\d+$/.test(name))),
    ) ?? null
  );
}
