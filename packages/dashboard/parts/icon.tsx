import type { ReactNode } from 'preact/compat';
import type { IconName } from '../../query/words/words.ts';

const cross = <path d="m5.9 5.9 4.2 4.2m0-4.2-4.2 4.2" stroke="var(--surface)" />;
const ring = <circle cx="8" cy="8" r="5.75" />;
const disc = <circle cx="8" cy="8" r="6.5" fill="currentColor" stroke="none" />;

/** Drawn on 16 × 16 with a line of 1.5. Outlined icons wait, filled ones move or have ended. */
const ICONS: Readonly<Record<IconName, ReactNode>> = {
  ack: (
    <>
      {disc}
      <g fill="var(--surface)" stroke="none">
        <circle cx="5" cy="8" r="1" />
        <circle cx="8" cy="8" r="1" />
        <circle cx="11" cy="8" r="1" />
      </g>
    </>
  ),
  actions: <path d="M8.75 1.75 3.5 9h4l-.5 5.25L12.5 7h-4z" />,
  activity: <path d="M3.5 2.25h9v11.5h-9zM6 5.5h4M6 8h4M6 10.5h2.5" />,
  cancelled: (
    <>
      {ring}
      <path d="m4 12 8-8" />
    </>
  ),
  check: <path d="m3 8.5 3.25 3.25L13 4.75" />,
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 3.25V3A1.5 1.5 0 0 0 9 1.5H4A1.5 1.5 0 0 0 2.5 3v5A1.5 1.5 0 0 0 4 9.5h.25" />
    </>
  ),
  dead: (
    <>
      <path d="M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3z" fill="currentColor" stroke="none" />
      {cross}
    </>
  ),
  deleted: <path d="M2.75 4.25h10.5M6.25 4V2.5h3.5V4M4.25 4.25l.6 9.25h6.3l.6-9.25" />,
  done: (
    <>
      {disc}
      <path d="m5.3 8.2 1.9 1.9 3.6-4" stroke="var(--surface)" />
    </>
  ),
  down: <path d="m3.5 6 4.5 4.5L12.5 6" />,
  download: <path d="M8 2v8M4.5 6.75 8 10.25l3.5-3.5M3 13.25h10" />,
  due: (
    <>
      {ring}
      <circle cx="8" cy="8" r="1.75" fill="currentColor" stroke="none" />
    </>
  ),
  edit: <path d="m10.5 2.75 2.75 2.75-7.5 7.5-3.25.5.5-3.25z" />,
  failed: (
    <>
      {disc}
      {cross}
    </>
  ),
  failing: (
    <>
      <path d="M8 2.2 14.4 13.4H1.6z" />
      <path d="M8 6.4v3M8 11.4v.1" />
    </>
  ),
  growing: (
    <>
      <path d="M2 11.5 6 7.5l2.5 2.5L14 4.5" />
      <path d="M10.5 4.25H14v3.5" />
    </>
  ),
  held: (
    <path d="M4.25 2.25h7.5M4.25 13.75h7.5M5 2.25v2c0 1.7 3 2.6 3 3.75S5 10 5 11.75v2M11 2.25v2C11 5.95 8 6.85 8 8s3 2 3 3.75v2" />
  ),
  idle: (
    <>
      {ring}
      <path d="M5.5 8h5" />
    </>
  ),
  info: (
    <>
      {ring}
      <path d="M8 7.5v3.25M8 5.1v.1" />
    </>
  ),
  jobs: (
    <>
      <rect x="2" y="2.5" width="12" height="4" rx="1.25" />
      <rect x="2" y="9.5" width="12" height="4" rx="1.25" />
    </>
  ),
  key: (
    <>
      <circle cx="5.25" cy="10.75" r="3" />
      <path d="m7.5 8.5 5.75-5.75M11 5l2 2" />
    </>
  ),
  left: <path d="M10 3.5 5.5 8l4.5 4.5" />,
  list: <path d="M5.5 4H14M5.5 8H14M5.5 12H14M2.25 4v.1M2.25 8v.1M2.25 12v.1" />,
  more: <path d="M3.5 8v.1M8 8v.1M12.5 8v.1" strokeWidth="2" />,
  moving: <path d="M2 8h11M9.25 4.25 13 8l-3.75 3.75" />,
  nacked: (
    <>
      {disc}
      <path d="M6.7 5.2 4.7 7.2l2 2M4.9 7.2h4.2a2 2 0 0 1 0 3.9H8" stroke="var(--surface)" />
    </>
  ),
  open: <path d="M6.5 3H3v10h10V9.5M9.5 2.5h4v4M13.25 2.75 7.5 8.5" />,
  overview: (
    <>
      <rect x="2" y="2" width="5" height="6.5" rx="1.25" />
      <rect x="9" y="2" width="5" height="3.5" rx="1.25" />
      <rect x="2" y="10.5" width="5" height="3.5" rx="1.25" />
      <rect x="9" y="7.5" width="5" height="6.5" rx="1.25" />
    </>
  ),
  pause: <path d="M5.5 3.5v9M10.5 3.5v9" />,
  paused: (
    <>
      <rect x="2" y="2" width="12" height="12" rx="2.5" />
      <path d="M6.25 5.5v5M9.75 5.5v5" />
    </>
  ),
  play: <path d="M5 3.25v9.5L12.5 8z" />,
  plus: <path d="M8 3v10M3 8h10" />,
  pressure: <path d="M2 3.5h12M2 12.5h12M8 5v2M8 11V9M6.75 6 8 7.25 9.25 6M6.75 10 8 8.75 9.25 10" />,
  probe: (
    <>
      {ring}
      <circle cx="8" cy="8" r="2.25" />
      <path d="M8 .9v2.2M8 12.9v2.2M.9 8h2.2M12.9 8h2.2" />
    </>
  ),
  processing: (
    <>
      {disc}
      <path d="M4.9 8h6M8.6 5.7 10.9 8l-2.3 2.3" stroke="var(--surface)" />
    </>
  ),
  queues: <path d="M2 4h12M2 8h12M2 12h8" />,
  rate: (
    <>
      <path d="M2.5 11.5a5.75 5.75 0 1 1 11 0" />
      <path d="m8 10 2.6-3.4" />
    </>
  ),
  retrying: (
    <>
      <path d="M13.5 8A5.5 5.5 0 1 1 11.7 3.9" />
      <path d="M13.6 1.9v3h-3" />
    </>
  ),
  right: <path d="m6 3.5 4.5 4.5L6 12.5" />,
  scheduled: (
    <>
      {ring}
      <path d="M8 4.75V8l2.25 1.5" />
    </>
  ),
  search: (
    <>
      <circle cx="7" cy="7" r="4.5" />
      <path d="m10.4 10.4 3.35 3.35" />
    </>
  ),
  send: <path d="M14 2 7.25 8.75M14 2 9.75 14l-2.5-5.25L2 6.25z" />,
  settings: (
    <>
      <path d="M2 4.5h6.5M12 4.5h2M2 11.5h2M7.5 11.5H14" />
      <circle cx="10.25" cy="4.5" r="1.75" />
      <circle cx="5.75" cy="11.5" r="1.75" />
    </>
  ),
  slots: (
    <>
      <rect x="2" y="3" width="3" height="10" rx="1" />
      <rect x="6.5" y="3" width="3" height="10" rx="1" />
      <rect x="11" y="3" width="3" height="10" rx="1" />
    </>
  ),
  slow: (
    <>
      <circle cx="8" cy="9" r="5" />
      <path d="M8 6.25V9M6 1.75h4" />
    </>
  ),
  star: <path d="m8 2 1.8 3.9 4.2.5-3.1 2.9.8 4.2L8 11.4l-3.7 2.1.8-4.2L2 6.4l4.2-.5z" />,
  stop: <rect x="3.5" y="3.5" width="9" height="9" rx="1.5" />,
  system: (
    <>
      <rect x="2" y="2.5" width="12" height="4.5" rx="1.25" />
      <rect x="2" y="9" width="12" height="4.5" rx="1.25" />
      <path d="M4.75 4.75v.1M4.75 11.25v.1" />
    </>
  ),
  theme: (
    <>
      {ring}
      <path d="M8 2.25v11.5a5.75 5.75 0 0 0 0-11.5z" fill="currentColor" />
    </>
  ),
  undo: <path d="M5.5 3 2.5 6l3 3M2.75 6H9.5a3.75 3.75 0 0 1 0 7.5H6" />,
  up: <path d="m3.5 10 4.5-4.5L12.5 10" />,
  user: (
    <>
      <circle cx="8" cy="5.25" r="2.75" />
      <path d="M2.75 13.75c.6-2.7 2.6-4 5.25-4s4.65 1.3 5.25 4" />
    </>
  ),
  x: <path d="m3.75 3.75 8.5 8.5m0-8.5-8.5 8.5" />,
};

/** An icon says nothing that the word beside it does not, so screen readers skip it. */
export function Icon({ name, className }: { name: IconName; className?: string }) {
  return (
    <svg className={className === undefined ? 'i' : `i ${className}`} viewBox="0 0 16 16" aria-hidden="true">
      {ICONS[name]}
    </svg>
  );
}

/** The mark: a job on a double-ended hull. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7.5" fill="#0a6a7a" />
      <rect x="11.25" y="6.75" width="9.5" height="8" rx="1.75" fill="#f4b63f" />
      <path d="M4.5 16.75h23l-2.9 5.9a3 3 0 0 1-2.7 1.7H10.1a3 3 0 0 1-2.7-1.7z" fill="#fff" />
      <path d="M6.5 27.4h19" stroke="#8fd0d8" strokeWidth="1.75" strokeLinecap="round" />
    </svg>
  );
}
