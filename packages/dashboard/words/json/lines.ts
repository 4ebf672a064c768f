import type { Lexed, Token, TokenKind } from './lex.ts';

/** A run of text of one colour. `kind` is null for space and for what follows an error. */
interface Piece {
  kind: TokenKind | null;
  text: string;
}

export interface Line {
  pieces: Piece[];
  /** Position of the line in the source text. */
  start: number;
  end: number;
}

/** The source text, cut at its line breaks: joined by them, the lines are the text again, byte for byte. */
export function exactLines(text: string, { tokens }: Lexed): Line[] {
  const lines: Line[] = [];
  let token = 0;
  let start = 0;
  for (const content of text.split('\n')) {
    const end = start + content.length;
    const pieces: Piece[] = [];
    let at = start;
    // Tokens never reach over a line break, which JSON allows only between them.
    for (let next = tokens[token]; next !== undefined && next.start < end; next = tokens[token]) {
      if (next.start > at) pieces.push({ kind: null, text: text.slice(at, next.start) });
      pieces.push({ kind: next.kind, text: text.slice(next.start, next.end) });
      at = next.end;
      token += 1;
    }
    if (at < end) pieces.push({ kind: null, text: text.slice(at, end) });
    lines.push({ pieces, start, end });
    start = end + 1;
  }
  return lines;
}

const INDENT = '  ';

/** A line for each member and item, indented. The tokens are untouched; only the space between them is new. */
export function tidyLines(text: string, { tokens }: Lexed): Line[] {
  const lines: Line[] = [];
  let line: Line | null = null;
  tokens.forEach((token, index) => {
    const source = text.slice(token.start, token.end);
    const before = tokens[index - 1];
    if (line === null || breaksBefore(text, before, token)) {
      line = { pieces: [], start: token.start, end: token.end };
      if (token.depth > 0) line.pieces.push({ kind: null, text: INDENT.repeat(token.depth) });
      lines.push(line);
    }
    line.pieces.push({ kind: token.kind, text: source === ':' && token.kind === 'mark' ? ': ' : source });
    line.end = token.end;
  });
  return lines;
}

function breaksBefore(text: string, before: Token | undefined, token: Token): boolean {
  if (before === undefined) return true;
  const [last, first] = [markOf(text, before), markOf(text, token)];
  const opens = last === '{' || last === '[';
  const closes = first === '}' || first === ']';
  if (opens && closes) return false;
  return opens || closes || last === ',';
}

function markOf(text: string, token: Token): string {
  return token.kind === 'mark' ? (text[token.start] ?? '') : '';
}
