import { number, percent } from '../../../../query/words/format.ts';

/** Use of the plan in the present month, UTC. */

/** First and last moment of a month such as `2026-11`. */
export function monthOf(month: string): { from: number; to: number } {
  const [year = 0, index = 1] = month.split('-').map(Number);
  return { from: Date.UTC(year, index - 1), to: Date.UTC(year, index) };
}

/**
 * Attempts by the end of the month, if it goes on as so far. Null in the first day of use, which says too little.
 * @param since when the account was created, in milliseconds
 */
export function projectedAttempts(attempts: number, month: string, since: number, now: number): number | null {
  const { from, to } = monthOf(month);
  const passed = now - Math.max(from, since);
  if (passed < 86_400_000) return null;
  const projected = attempts + (attempts / passed) * (to - now);
  // Three digits: it is an estimate.
  const size = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(projected, 1))) - 2);
  return Math.round(projected / size) * size;
}

/** When an account was created, in milliseconds: the first 12 digits of its id. */
export const createdAtOf = (id: string) => Number.parseInt(id.slice(0, 12), 16);

const NAMES = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
];

export const nameOfMonth = (month: string) => NAMES[Number(month.split('-')[1]) - 1] ?? month;

/** Whether the month's limit, or else what the plan includes, is far or near. */
export function headOfPlan(
  { attempts, month }: { attempts: number; month: string },
  { includedAttempts, monthlyAttempts }: { includedAttempts: number; monthlyAttempts: number | null },
): string {
  const name = nameOfMonth(month);
  if (monthlyAttempts !== null && attempts >= monthlyAttempts) {
    return `All ${number(monthlyAttempts)} of ${name}’s attempts are used: publishing and replays are refused.`;
  }
  const whole = monthlyAttempts ?? includedAttempts;
  if (attempts > whole) return `${number(attempts - whole)} more attempts than included were used in ${name}.`;
  return `${percent(attempts, whole)} of ${name}’s attempts used.`;
}
