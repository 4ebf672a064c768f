import { type Lexed, type Note, positionOf } from './lex.ts';

const TEXTS: Readonly<Record<Note['kind'], string>> = {
  'big-number': 'is above 2⁵³. It is kept and sent as written.',
  'huge-number': 'is more than most programs can read. It is kept and sent as written.',
  'duplicate-key': 'is there a second time. Both are kept and sent; most programs read the last.',
  'lone-surrogate': 'has half of a character. It is kept and sent as written.',
  turning: 'has characters that turn the direction of the text. They are shown as [U+…], and kept and sent as written.',
  'null-character': 'has the character \\u0000, which some databases refuse.',
};

interface NoteText {
  line: number;
  source: string;
  text: string;
}

const MAX_NOTES = 5;
const MAX_SOURCE = 40;

/** The parts that other programs may change or refuse, by line; the first five. */
export function noteTexts(text: string, { notes }: Lexed): { shown: NoteText[]; more: number } {
  const shown = notes.slice(0, MAX_NOTES).map(({ kind, start, end }) => {
    const source = text.slice(start, end);
    return {
      line: positionOf(text, start).line,
      source: source.length > MAX_SOURCE ? `${source.slice(0, MAX_SOURCE)}…` : source,
      text: TEXTS[kind],
    };
  });
  return { shown, more: notes.length - shown.length };
}
