import { createStore } from './store.ts';

/** Which of the two dialogs of the shell is open. */
export const overlay = createStore<'palette' | 'help' | null>(null);

export function openPalette(): void {
  overlay.set('palette');
}

export function closeOverlay(): void {
  overlay.set(null);
}
