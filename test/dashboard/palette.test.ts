import { describe, expect, it, vi } from 'vitest';
import { CONDITIONS } from '../../packages/dashboard/features/queues/model/condition-words.ts';
import { favouritesFirst, type QueueState } from '../../packages/dashboard/features/queues/model/overview.ts';
import { paletteItems, queueActionOf } from '../../packages/dashboard/shell/palette-items.ts';
import { conditionsInWords, conditionsOf } from '../../packages/query/filter/queue-search.ts';

const webhookUrl = 'https://api.partner.com/hooks';
const QUEUES = [
  { id: '1', name: 'order-events', paused: false, webhookUrl, tags: [] },
  { id: '2', name: 'emails', paused: true, webhookUrl: 'https://mail.example/', tags: ['mail'] },
  { id: '3', name: 'emails-eu', paused: false, webhookUrl: 'https://mail.example/eu', tags: ['mail', 'eu'] },
];
const operator = { role: 'OPERATOR', mayViewPayloads: false } as const;
const known = { queues: [], paths: [], values: [] };
const offers = (text: string, rights: Parameters<typeof paletteItems>[3] = operator, setPaused = vi.fn()) =>
  paletteItems(text, [], QUEUES, rights, [], { known, now: 0 }, { favourites: ['emails'], setPaused });
const labels = (text: string) => offers(text).map(({ label }) => label);

describe('the palette', () => {
  it('offers to pause and to resume queues by name, to those who may', () => {
    expect(labels('>pause')).toEqual(['Pause order-events', 'Pause emails-eu']);
    expect(labels('> pause email')).toEqual(['Pause emails-eu']);
    const stop = { label: 'Pause or resume updates', run: () => undefined };
    const both = paletteItems('>pause or', [stop], QUEUES, operator, [], { known, now: 0 }, { setPaused: vi.fn() });
    expect(both.map(({ label }) => label)).toEqual(['Pause order-events', 'Pause or resume updates']);
    expect(labels('>resume')).toEqual(['Resume emails']);
    expect(labels('>pa')).toEqual(['Pause order-events', 'Pause emails-eu']);
    expect(labels('>pause this queue')).toEqual([]);
    expect(offers('>pause', { role: 'VIEWER', mayViewPayloads: true })).toEqual([]);
    const setPaused = vi.fn();
    const [first] = offers('>resume', operator, setPaused);
    if (first !== undefined && 'run' in first) first.run();
    expect(setPaused).toHaveBeenCalledWith(QUEUES[1], false);
  });

  it('finds a queue whose name is misspelt, for the text that was looked up alone', () => {
    const meant = QUEUES.map((queue) => ({ ...queue, meantBy: 'emials' }));
    const first = (text: string) =>
      paletteItems(text, [], meant.slice(2), operator, [], { known, now: 0 }, { setPaused: vi.fn() })[0]?.label;
    expect(['emials', '>pause emials', '>pause emialz'].map(first)).toEqual([
      'emails-eu',
      'Pause emails-eu',
      undefined,
    ]);
  });

  it('asks for the queues that a command names', () => {
    expect(queueActionOf('>pause em')).toEqual({ verb: 'pause', name: 'em' });
    expect(queueActionOf('>res')).toEqual({ verb: 'resume', name: '' });
    for (const text of ['pause em', '>p', '>', '>paused em', '>sign out']) expect(queueActionOf(text)).toBeNull();
  });

  it('finds queues as their list does, and goes on with the start of a condition', () => {
    const queues = (text: string) => offers(text).flatMap(({ group, label }) => (group === 'Queues' ? [label] : []));
    expect(queues('Partner.com')).toEqual(['order-events', 'api.partner.com']);
    expect(queues('tag:eu')).toEqual(['emails-eu']);
    expect(queues('tag:mail mail.example')).toEqual(['emails', 'emails-eu']);
    expect(offers('stat')).toContainEqual(expect.objectContaining({ label: 'Jobs: state:', text: 'state:' }));
  });

  it('offers the queues in a condition by words of people', () => {
    const paths = (text: string) => offers(text).flatMap((item) => ('path' in item ? [[item.label, item.path]] : []));
    expect(paths('stuck')).toContainEqual(['Queues: stuck', '/queues?q=is:stuck,awaiting,paused']);
    expect(paths('broken')).toContainEqual(['Queues: broken', '/queues?q=is:failing,breaker,signature']);
    expect(paths('slow')).toContainEqual(['Attempts: longer than 5 s', '/jobs/attempts?took=5s']);
    expect(paths('is:stuck')).toEqual([]);
    expect(conditionsOf('mail is:failing,behind')).toEqual(['failing', 'behind']);
    expect(conditionsOf('is:late')).toEqual(['behind', 'catching-up', 'stuck']);
    // All slots wait for reports, or a person has paused it: jobs stand still as well.
    expect(conditionsOf('is:stuck')).toEqual(['stuck', 'awaiting', 'paused']);
    expect(conditionsOf('is:constructor')).toEqual(['constructor']);
    expect(conditionsOf('stuck')).toBeNull();
    for (const [search] of conditionsInWords()) {
      for (const one of conditionsOf(search) ?? []) expect(Object.keys(CONDITIONS)).toContain(one);
    }
  });

  it('finds the page of a receiver by its host, also to pause or resume its queues', () => {
    const receiver = (host: string) => offers(host).filter(({ hint }) => hint === 'receiver');
    expect(receiver('mail.example')).toMatchObject([{ label: 'mail.example', path: '/receivers/mail.example' }]);
    expect(receiver('partner')).toMatchObject([{ label: 'api.partner.com' }]);
    expect(receiver('')).toEqual([]);
    expect(offers('mail.example')[0]?.hint).toBe('receiver');
    expect(offers('>pause mail.ex')).toMatchObject([
      { label: 'Pause the queues of mail.example…', path: '/receivers/mail.example#pause' },
    ]);
    expect(labels('>resume mail.example')).toEqual(['Resume the queues of mail.example…']);
    expect(offers('>pause mail.ex', { role: 'VIEWER', mayViewPayloads: true })).toEqual([]);
  });

  it('begins with the favourites', () => {
    expect(offers('')[0]).toMatchObject({ group: 'Favourites', label: 'emails', path: '/queues/emails' });
    expect(offers('em').map(({ group }) => group)).not.toContain('Favourites');
  });
});

describe('a list of queues', () => {
  it('has the favourites first, each part in its order', () => {
    const states = ['a', 'b', 'c', 'd'].map((name) => ({ queue: { name } }) as QueueState);
    const names = favouritesFirst(states, ['d', 'b', 'gone']).map(({ queue }) => queue.name);
    expect(names).toEqual(['b', 'd', 'a', 'c']);
  });
});
