import { preferences, toggleFavourite } from '../../../base/preferences.ts';
import { useStore } from '../../../base/store.ts';
import { Icon } from '../../../parts/icon.tsx';
import { useCommands } from '../../../parts/page/keys.ts';

export const useFavourites = () => useStore(preferences, ({ favourites }) => favourites);

/** Makes a queue a favourite of this person in this browser, or not. */
export function Star({ name }: { name: string }) {
  const isFavourite = useFavourites().includes(name);
  const toggle = () => toggleFavourite(name);
  useCommands([
    { key: 'f', label: isFavourite ? 'Remove from favourites' : 'Add to favourites', icon: 'star', run: toggle },
  ]);
  return (
    <button
      type="button"
      className="btn icon star"
      aria-label="Favourite"
      aria-pressed={isFavourite}
      title="Favourites come first in your lists (key f)"
      onClick={toggle}
    >
      <Icon name="star" />
    </button>
  );
}
