/**
 * A sentence with times in it. `Phrase` of parts/time.tsx shows each time as `<time datetime>`; tests and titles take
 * the text.
 */
export interface TimePiece {
  /** Milliseconds since 1970. */
  at: number;
  text: string;
}
export type Phrase = readonly (string | TimePiece)[];

/** phrase`Retries in ${span(ms)}, at ${{ at, text: time(at, view) }}, because ${cause}.` */
export function phrase(
  texts: TemplateStringsArray,
  ...values: readonly (string | number | TimePiece | Phrase)[]
): Phrase {
  const pieces: (string | TimePiece)[] = [];
  const add = (piece: string | TimePiece) => {
    const last = pieces.at(-1);
    if (typeof piece === 'string' && typeof last === 'string') pieces[pieces.length - 1] = last + piece;
    else if (piece !== '') pieces.push(piece);
  };
  texts.forEach((text, index) => {
    add(text);
    const value = values[index];
    if (value === undefined) return;
    if (Array.isArray(value)) for (const piece of value as Phrase) add(piece);
    else add(typeof value === 'number' ? String(value) : (value as string | TimePiece));
  });
  return pieces;
}

export function textOfPhrase(pieces: Phrase): string {
  return pieces.map((piece) => (typeof piece === 'string' ? piece : piece.text)).join('');
}

/** Sentences one after the other. Empty ones are left out. */
export function sentences(...all: readonly (Phrase | string | null)[]): Phrase {
  return all
    .filter((one) => one !== null && one.length > 0)
    .flatMap((one, index) => [...(index === 0 ? [] : [' ']), ...(typeof one === 'string' ? [one] : (one as Phrase))]);
}
