import { many } from '../../../../query/words/format.ts';
import { isSilent, mayBeCut } from '../../../words/cause.ts';
import { type Diff, diffLines } from '../../../words/diff.ts';
import { lexJson } from '../../../words/json/lex.ts';
import { tidyLines } from '../../../words/json/lines.ts';

/** Two payloads or two answers beside each other. */

export interface Comparison extends Diff {
  /** Whether each member stands on a line of its own: both are JSON. */
  isJson: boolean;
  /** Whether every character is the same. */
  isEqual: boolean;
}

/**
 * JSON is compared by its members and items with all digits, whatever space is between them; other text by its lines.
 */
export function compareTexts(from: string, to: string): Comparison {
  const [a, b] = [jsonLines(from), jsonLines(to)];
  const isEqual = from === to;
  if (a === null || b === null) return { ...diffLines(linesOf(from), linesOf(to)), isJson: false, isEqual };
  // The comma after a member says only that another one follows.
  return { ...diffLines(a, b, (line) => line.replace(/,$/, '')), isJson: true, isEqual };
}

const linesOf = (text: string) => (text === '' ? [] : text.split(/\r?\n/));

function jsonLines(text: string): string[] | null {
  const lexed = lexJson(text);
  if (text === '' || lexed.error !== null) return null;
  return tidyLines(text, lexed).map(({ pieces }) => pieces.map((piece) => piece.text).join(''));
}

/** "The payloads differ in 3 lines." */
export function sentenceOfComparison(what: string, { removed, added, isEqual }: Comparison): string {
  if (isEqual) return `${what} are equal, character by character.`;
  const lines = Math.max(removed, added);
  if (lines === 0) return `${what} differ in the space between the values only.`;
  return `${what} differ in ${many(lines, 'line')}.`;
}

/**
 * Sentence on the answers to two attempts. What was not compared is not called equal: an answer that never came,
 * another code, and what is not stored of a body.
 */
export function sentenceOfAnswers(from: Answered, to: Answered, diff: Comparison): string {
  const silent = [from, to].filter(isSilent).length;
  if (silent === 2) return 'No answer came to either.';
  if (silent === 1) return 'An answer came to one of them only.';
  const bodies = [from.responseBody ?? '', to.responseBody ?? ''];
  const isCode = from.webhookStatusCode === to.webhookStatusCode;
  if (bodies.every((body) => body === '')) {
    return isCode ? 'The answers are equal: both without a body.' : 'Both answers have no body, the codes differ.';
  }
  const what = bodies.some(mayBeCut) ? 'The first 4 KiB of the bodies' : isCode ? 'The answers' : 'The bodies';
  if (isCode) return sentenceOfComparison(what, diff);
  return diff.isEqual
    ? `${what} are equal, the codes differ.`
    : sentenceOfComparison(what, diff).replace(/\.$/, ', and the codes differ.');
}

type Answered = Parameters<typeof isSilent>[0];

/** The places of two attempts in the history of a job, as in the address: `1,3`. The last two by default. */
export function chosenAttempts(text: string | null, attempts: number): readonly [from: number, to: number] {
  const [from = 0, to = 0] = (text ?? '').split(',').map(Number);
  const isPlace = (place: number) => Number.isInteger(place) && place >= 1 && place <= attempts;
  return isPlace(from) && isPlace(to) ? [from, to] : [Math.max(1, attempts - 1), attempts];
}
