import { day, time, type Zone } from '../../../../query/words/format.ts';

/** "This browser follows the system’s theme, is comfortable, and shows times in UTC." */
export function displaySentence({
  theme,
  density,
  zone,
}: {
  theme: 'system' | 'light' | 'dark';
  density: 'comfortable' | 'compact';
  zone: Zone;
}): string {
  const look = theme === 'system' ? 'follows the system’s theme' : `is ${theme}`;
  return `This page ${look}, has ${density} rows, and shows ${zone === 'utc' ? 'times in UTC' : 'local times'}.`;
}

/** "Now it is 28 Nov, 14:36:18 UTC and 29 Nov, 04:36:18 here." */
export function clocksText(now: number): string {
  const at = (zone: Zone) => `${day(now, { now, zone })}, ${time(now, { now, zone })}`;
  return `Now it is ${at('utc')} UTC and ${at('local')} here.`;
}
