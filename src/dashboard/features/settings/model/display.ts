import type { Zone } from '../../../words/format.ts';

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
