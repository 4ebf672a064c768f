import { ago, exactTime, time } from '../../query/words/format.ts';
import { preferences } from '../base/preferences.ts';
import { useStore } from '../base/store.ts';
import { useView } from '../base/time.ts';
import type { Phrase as Pieces } from '../words/phrase.ts';

const iso = (at: number) => (Number.isNaN(at) ? undefined : new Date(at).toISOString());

/** A sentence with its times as `<time>`. */
export function Phrase({ pieces }: { pieces: Pieces }) {
  return pieces.map((piece, index) =>
    typeof piece === 'string' ? (
      piece
    ) : (
      <time key={index} dateTime={iso(piece.at)}>
        {piece.text}
      </time>
    ),
  );
}

/** A time in a list: "2 min ago" or exact, by choice. The title has all of it. */
export function Ago({ at }: { at: string }) {
  const view = useView();
  const times = useStore(preferences, (all) => all.times);
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={exactTime(ms, view.zone)}>
      {times === 'relative' ? ago(ms, view) : time(ms, view)}
    </time>
  );
}

/** HH:MM:SS, with the day when it is not today. */
export function Time({ at }: { at: string }) {
  const view = useView();
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={exactTime(ms, view.zone)}>
      {time(ms, view)}
    </time>
  );
}

/** 12 Nov 2026, 12:03:36.902 */
export function ExactTime({ at }: { at: string }) {
  const zone = useStore(preferences, (all) => all.zone);
  return <time dateTime={at}>{exactTime(Date.parse(at), zone)}</time>;
}
