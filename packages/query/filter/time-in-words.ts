/**
 * Times as people say them. Days are those of the reader's zone;
 * the bounds are moments, so an address finds the same jobs for the next reader.
 */

const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const UNITS: Readonly<Record<string, string>> = { minute: 'm', hour: 'h', day: 'd', week: 'd' };

/**
 * Returns the text of a range for a time in words, such as `yesterday`, `since monday 9:00`, `before friday` or
 * `last 2 hours`; null for any other text.
 */
export function timeInWords(text: string, now: number): string | null {
  const words = text
    .trim()
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .replace(/day['’]s$/, 'day');
  const [, amount = '1', unit] = /^(?:the )?(?:last|past) (?:(\d{1,4}) )?(minute|hour|day|week)s?$/.exec(words) ?? [];
  if (unit !== undefined) return `>-${unit === 'week' ? Number(amount) * 7 : amount}${UNITS[unit]}`;
  if (words.startsWith('before ')) return timeInWords(words.replace('before', 'since'), now)?.replace('>', '<') ?? null;
  const [, since, day = '', time] = /^(since )?([a-z]+)?(?: ?(\d{1,2}:\d\d))?$/.exec(words) ?? [];
  const minutes = time === undefined ? 0 : minutesOf(time);
  if (minutes === null || (day === '' && time === undefined)) return null;
  const daysAgo = day === '' ? 0 : daysBefore(day, now);
  if (daysAgo === null || (since === undefined && time !== undefined)) return null;
  const from = timeOfDay(now, -daysAgo, minutes);
  // A time of today that is still to come was meant as that of yesterday.
  const past = from > now ? timeOfDay(now, -1, minutes) : from;
  if (since !== undefined || daysAgo === 0) return `>${atMinute(past)}`;
  return `${atMinute(from)}..${atMinute(timeOfDay(now, 1 - daysAgo, 0))}`;
}

/** The text of a range with a time in words as moments: `yesterday`, `>monday`. Any other text stays as it is. */
export function inMoments(text: string, now: number): string {
  const [, op = '', words = ''] = text.match(/^([><]?)(.+)$/) ?? [];
  return timeInWords((op === '' ? '' : op === '<' ? 'before ' : 'since ') + words, now) ?? text;
}

function minutesOf(time: string): number | null {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours < 24 && minutes < 60 ? hours * 60 + minutes : null;
}

/** The last day of a name; null for any other word. */
function daysBefore(day: string, now: number): number | null {
  if (day === 'today') return 0;
  if (day === 'yesterday') return 1;
  const wanted = DAYS.indexOf(day);
  // Seven days ago rather than today: of today one says so.
  return wanted === -1 ? null : ((new Date(now).getDay() - wanted + 6) % 7) + 1;
}

/**
 * The moment at which a clock of the zone shows the time, in minutes since 0:00, on the day that is so many days after
 * today. Not minutes after midnight: on a day of 23 or 25 hours they are an hour off.
 */
function timeOfDay(now: number, days: number, minutes: number): number {
  const date = new Date(now);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + days, 0, minutes).getTime();
}

function atMinute(at: number): string {
  return new Date(at).toISOString().replace(/:\d\d\.\d{3}Z$/, 'Z');
}
