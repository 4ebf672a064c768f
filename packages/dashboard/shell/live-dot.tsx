import { number, span, time } from '../../query/words/format.ts';
import { pause, togglePause, useLiveState } from '../api/live/live.ts';
import { useStore } from '../base/store.ts';
import { useView } from '../base/time.ts';

/** Live, Paused, Connecting or Stale, with server time. A click pauses and resumes. */
export function LiveButton() {
  const view = useView();
  const { word, shape } = useLiveWord();
  return (
    <button type="button" title="Click to pause updates (key .)" onClick={togglePause}>
      <span className={`live ${shape}`} />
      {word}
      <span className="end q3">
        {time(view.now, view)} {view.zone === 'utc' && 'UTC'}
      </span>
    </button>
  );
}

function useLiveWord(): { word: string; shape: string } {
  const state = useLiveState();
  const paused = useStore(pause);
  const view = useView();
  if (paused !== null)
    return { word: paused.waiting === 0 ? 'Paused' : `Paused, ${number(paused.waiting)}`, shape: 'paused' };
  if (state.phase === 'open') return { word: 'Live', shape: '' };
  if (state.staleSince !== null) return { word: `Stale since ${time(state.staleSince, view)}`, shape: 'stale' };
  if (state.nextTryAt !== null) {
    return { word: `Connecting, next try in ${span(state.nextTryAt - view.now)}`, shape: 'connecting' };
  }
  return { word: state.phase === 'closed' ? 'Not connected' : 'Connecting', shape: 'connecting' };
}

/** In the top bar of a phone. */
export function LiveLabel() {
  const { word, shape } = useLiveWord();
  return (
    <button
      type="button"
      className="btn quiet tiny"
      onClick={togglePause}
      aria-label={`${word}. Pause or resume updates`}
    >
      <span className={`live ${shape}`} /> {word.split(/ since|,/)[0]}
    </button>
  );
}
