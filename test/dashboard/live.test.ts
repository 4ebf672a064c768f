import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LiveConnection, type LiveState, type StreamEvents } from '../../packages/dashboard/api/live/connection.ts';
import { patch } from '../../packages/dashboard/api/live/patch.ts';
import { RecentUpdates } from '../../packages/dashboard/api/live/recent-updates.ts';
import { type FullWatch, isSameWatch, mergeWatches } from '../../packages/dashboard/api/live/watch-list.ts';

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

function started() {
  const streams: { watch: FullWatch; events: StreamEvents; isClosed: boolean }[] = [];
  const states: LiveState[] = [];
  const applied: object[][] = [];
  let refetches = 0;
  const connection = new LiveConnection({
    open: (watch, events) => {
      const stream = { watch, events, isClosed: false };
      streams.push(stream);
      return () => {
        stream.isClosed = true;
      };
    },
    apply: (objects) => applied.push(objects),
    refetch: () => {
      refetches += 1;
    },
    onState: (state) => states.push(state),
    now: Date.now,
    random: () => 1,
  });
  connection.setEnabled(true);
  const last = () => {
    const stream = streams.at(-1);
    if (stream === undefined) throw new Error('No stream was opened.');
    return stream;
  };
  return {
    connection,
    streams,
    applied,
    last,
    state: () => states.at(-1),
    refetches: () => refetches,
    open: () => last().events.onByte(),
  };
}

describe('the connection', () => {
  it('is live from the first byte on', () => {
    const live = started();
    expect(live.state()).toMatchObject({ phase: 'connecting', staleSince: null });
    live.open();
    expect(live.state()).toEqual({ phase: 'open', nextTryAt: null, staleSince: null });
    expect(live.refetches()).toBe(0);
  });

  it('is stale after 25 s without a byte, and refetches when it is back', () => {
    const live = started();
    live.open();
    const openedAt = Date.now();
    vi.advanceTimersByTime(24_000);
    live.last().events.onByte();
    vi.advanceTimersByTime(24_999);
    expect(live.state()?.phase).toBe('open');
    vi.advanceTimersByTime(1);
    expect(live.state()).toEqual({ phase: 'waiting', nextTryAt: Date.now() + 1000, staleSince: openedAt + 24_000 });
    expect(live.streams[0]?.isClosed).toBe(true);
    vi.advanceTimersByTime(1000);
    expect(live.streams).toHaveLength(2);
    live.open();
    expect(live.state()).toEqual({ phase: 'open', nextTryAt: null, staleSince: null });
    expect(live.refetches()).toBe(1);
  });

  it('backs off from 1 s to 30 s', () => {
    const live = started();
    const delays = Array.from({ length: 7 }, () => {
      live.last().events.onEnd();
      const delay = (live.state()?.nextTryAt ?? 0) - Date.now();
      vi.advanceTimersByTime(delay);
      return delay;
    });
    expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    live.open();
    live.last().events.onEnd();
    expect((live.state()?.nextTryAt ?? 0) - Date.now()).toBe(1000);
  });

  it('tries now when it is told to', () => {
    const live = started();
    live.last().events.onEnd();
    live.connection.tryNow();
    expect(live.streams).toHaveLength(2);
    vi.advanceTimersByTime(10_000);
    expect(live.streams).toHaveLength(2);
  });

  it('closes 5 s after the tab was hidden, and refetches on return', () => {
    const live = started();
    live.open();
    live.connection.setVisible(false);
    vi.advanceTimersByTime(4999);
    live.connection.setVisible(true);
    expect(live.streams).toHaveLength(1);
    live.connection.setVisible(false);
    vi.advanceTimersByTime(5000);
    expect(live.streams[0]?.isClosed).toBe(true);
    expect(live.state()?.phase).toBe('closed');
    vi.advanceTimersByTime(3_600_000);
    expect(live.streams).toHaveLength(1);
    live.connection.setVisible(true);
    expect(live.refetches()).toBe(1);
    expect(live.streams).toHaveLength(2);
  });

  it('does not come back while it is hidden', () => {
    const live = started();
    live.last().events.onEnd();
    live.connection.setVisible(false);
    vi.advanceTimersByTime(5000);
    const count = live.streams.length;
    vi.advanceTimersByTime(120_000);
    expect(live.streams).toHaveLength(count);
  });

  it('applies at most four times a second, and the first message at once', () => {
    const live = started();
    live.open();
    for (let n = 0; n < 100; n += 1) {
      live.last().events.onObjects([{ n }]);
      vi.advanceTimersByTime(10);
    }
    vi.advanceTimersByTime(250);
    expect(live.applied[0]).toEqual([{ n: 0 }]);
    expect(live.applied.length).toBeLessThanOrEqual(5);
    expect(live.applied.flat()).toHaveLength(100);
  });

  it('opens one stream for what all parts watch', () => {
    const live = started();
    live.open();
    live.connection.setWatch(mergeWatches([{ jobIds: ['a'] }]));
    live.connection.setWatch(mergeWatches([{ jobIds: ['a'] }, { queueIds: ['q'] }]));
    vi.advanceTimersByTime(50);
    expect(live.streams).toHaveLength(2);
    expect(live.streams[0]?.isClosed).toBe(true);
    expect(live.last().watch).toEqual({ queueIds: ['q'], jobIds: ['a'], actionIds: [], allQueues: false });
    // The dot stays live: the new stream begins with the present state.
    expect(live.state()?.phase).toBe('open');
    live.connection.setWatch(mergeWatches([{ queueIds: ['q'] }, { jobIds: ['a'] }]));
    vi.advanceTimersByTime(1000);
    expect(live.streams).toHaveLength(2);
  });

  it('ignores what comes from a stream that it closed', () => {
    const live = started();
    live.open();
    live.connection.setWatch(mergeWatches([{ jobIds: ['a'] }]));
    vi.advanceTimersByTime(50);
    live.streams[0]?.events.onObjects([{ old: true }]);
    live.streams[0]?.events.onEnd();
    expect(live.applied).toEqual([]);
    expect(live.state()?.phase).toBe('open');
  });

  it('closes without a session', () => {
    const live = started();
    live.open();
    live.connection.setEnabled(false);
    expect(live.last().isClosed).toBe(true);
    vi.advanceTimersByTime(60_000);
    expect(live.streams).toHaveLength(1);
    live.connection.setEnabled(true);
    expect(live.streams).toHaveLength(2);
  });
});

describe('watches', () => {
  it('are merged, each id once, at most 100 of a kind', () => {
    const many = Array.from({ length: 150 }, (_, n) => `job-${n}`);
    const merged = mergeWatches([{ jobIds: many }, { jobIds: ['job-1'], actionIds: ['x'] }, {}]);
    expect(merged.jobIds).toHaveLength(100);
    expect(merged.actionIds).toEqual(['x']);
    expect(isSameWatch(mergeWatches([{ jobIds: ['a', 'b'] }]), mergeWatches([{ jobIds: ['b', 'a'] }]))).toBe(true);
  });
});

const job = (id: string, more: object = {}) => ({ __typename: 'Job', id, status: 'PENDING', ...more });
const updates = (...objects: { __typename: string; id: string }[]) =>
  new Map(objects.map((object) => [`${object.__typename}:${object.id}`, object]));

describe('patch', () => {
  it('changes an object wherever it is, and nothing else', () => {
    const data = { jobs: { nodes: [job('a'), job('b')] }, one: job('a', { payloadText: '{}' }), at: 1 };
    const next = patch(data, updates(job('a', { status: 'DEAD', lastError: 'x' })));
    expect(next).toEqual({
      jobs: { nodes: [job('a', { status: 'DEAD' }), job('b')] },
      one: job('a', { status: 'DEAD', payloadText: '{}' }),
      at: 1,
    });
    expect(next.jobs.nodes[1]).toBe(data.jobs.nodes[1]);
  });

  it('returns the same object if nothing has changed', () => {
    const data = { nodes: [job('a', { waiting: { reason: 'DUE' }, list: [1] })] };
    expect(patch(data, updates(job('b')))).toBe(data);
    expect(patch(data, updates(job('a', { waiting: { reason: 'DUE' }, list: [1] })))).toBe(data);
  });

  it('keeps further fields of an object within that is the same, and not of another', () => {
    const queue = { __typename: 'Queue', id: 'q', name: 'orders', concurrency: 5 };
    const data = job('a', { queue, probe: { __typename: 'Job', id: 'x', status: 'DEAD' } });
    const next = patch(
      data,
      updates(
        job('a', {
          queue: { __typename: 'Queue', id: 'q', name: 'orders' },
          probe: { __typename: 'Job', id: 'y' },
        }) as never,
      ),
    );
    expect(next).toEqual(job('a', { queue, probe: { __typename: 'Job', id: 'y' } }));
  });

  it('takes null and what was null', () => {
    const data = job('a', { waiting: { reason: 'DUE' }, hold: null });
    expect(patch(data, updates(job('a', { waiting: null, hold: { byBreaker: false, until: 'x' } }) as never))).toEqual(
      job('a', { waiting: null, hold: { byBreaker: false, until: 'x' } }),
    );
  });
});

describe('recent updates', () => {
  it('are applied to the result of a request that was sent before them', () => {
    const recent = new RecentUpdates();
    recent.add([job('a', { status: 'PROCESSING' })]);
    const mark = recent.mark();
    recent.add([job('b', { status: 'DEAD' })]);
    const result = { nodes: [job('a'), job('b')] };
    expect(recent.applyTo(result, mark).nodes.map(({ status }) => status)).toEqual(['PENDING', 'DEAD']);
    expect(recent.applyTo(result, recent.mark())).toBe(result);
  });
});
