import type { Zone } from '../../query/words/format.ts';
import { createStore } from './store.ts';

/** Taste, not place: what one sees is in the URL, how it looks is kept in this browser. */
export interface Preferences {
  theme: 'system' | 'light' | 'dark';
  density: 'comfortable' | 'compact';
  zone: Zone;
  /** Whether times in lists are "2 min ago" or exact. */
  times: 'relative' | 'exact';
  /** Keys without a modifier, such as `r`. Some assistive software types them by accident. */
  singleKeys: boolean;
  /** Names of queues that come first in lists, the latest last. */
  favourites: readonly string[];
}

/** The oldest makes room for a new one. */
const MAX_FAVOURITES = 50;

const NAME = 'jobferry.preferences';
const DEFAULTS: Preferences = {
  theme: 'system',
  density: 'comfortable',
  zone: 'utc',
  times: 'relative',
  singleKeys: true,
  favourites: [],
};

function read(): Preferences {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(NAME) ?? '{}') as Partial<Preferences>) };
  } catch {
    // The browser keeps nothing for this page.
    return DEFAULTS;
  }
}

export const preferences = createStore<Preferences>(read());

export function setPreference(change: Partial<Preferences>): void {
  preferences.set({ ...preferences.get(), ...change });
  try {
    localStorage.setItem(NAME, JSON.stringify(preferences.get()));
  } catch {
    // They hold until the tab is closed.
  }
}

export function toggleFavourite(name: string): void {
  const { favourites } = preferences.get();
  const others = favourites.filter((one) => one !== name);
  setPreference({ favourites: others.length < favourites.length ? others : [...others, name].slice(-MAX_FAVOURITES) });
}

/** Called before the first paint, and then follows every change, also of other tabs. */
export function applyPreferences(): void {
  const apply = () => {
    const { theme, density } = preferences.get();
    const { dataset } = document.documentElement;
    if (theme === 'system') delete dataset.theme;
    else dataset.theme = theme;
    dataset.density = density;
  };
  preferences.subscribe(apply);
  addEventListener('storage', ({ key }) => {
    if (key === NAME) preferences.set(read());
  });
  apply();
}
