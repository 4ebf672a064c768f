import { useSyncExternalStore } from 'preact/compat';

/** Windows without room for two columns. */
export const PHONE = '(max-width: 45.99rem)';

/** Whether a media query matches, kept current. */
export function useMedia(media: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const list = matchMedia(media);
      list.addEventListener('change', listener);
      return () => list.removeEventListener('change', listener);
    },
    () => matchMedia(media).matches,
  );
}
