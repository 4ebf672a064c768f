import { expect, it } from 'vitest';
import { inTurn } from '../../src/graphql/timeline.ts';

/** Counts turns of the event loop until `done` resolves. */
function turnsOf<T>(work: (turn: () => number) => Promise<T>): Promise<T> {
  let turn = 0;
  let isOver = false;
  const next = () => {
    turn += 1;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  return work(() => turn).finally(() => {
    isOver = true;
  });
}

const of = (id: string) => ({
  account: { id, name: id, plan: 'pro' as const, actor: { type: 'api_key', id, label: id } as const },
});

/** Found by rigs/bench/neighbours: charts that came out of the database together kept a delivery waiting for 0.2 s. */
it('resolves each list of points in a turn of the event loop of its own', async () => {
  const turns = await turnsOf((turn) => Promise.all(Array.from({ length: 5 }, () => inTurn(of('a'), []).then(turn))));
  expect(new Set(turns).size).toBe(5);
});

it('resolves the lists of accounts in turn', async () => {
  const order: string[] = [];
  const lists = ['a', 'a', 'a', 'b'].map((id) => inTurn(of(id), []).then(() => order.push(id)));
  await Promise.all(lists);
  expect(order).toEqual(['a', 'b', 'a', 'a']);
});
