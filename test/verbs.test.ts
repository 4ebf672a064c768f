import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSchema } from 'graphql';
import { describe, expect, it } from 'vitest';
import { createClient } from '../packages/client/src/index.ts';
import { COMMANDS } from '../src/cli/commands/index.ts';
import { contract } from '../src/contract/index.ts';

/** docs/verbs.md has each verb of REST, GraphQL, client and command line, and a reason for each empty cell. */

const ROOT = join(import.meta.dirname, '..');
const document = readFileSync(join(ROOT, 'docs/verbs.md'), 'utf8');
const named = new Set([...document.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
const rows = document.split('\n').filter((line) => /^\| [a-z]/i.test(line));

const missing = (names: readonly string[]) => names.filter((name) => !named.has(name));

describe('docs/verbs.md', () => {
  it('has each route of the contract', () => {
    const routes = Object.values(contract).flatMap((group) =>
      Object.values(group as Record<string, { method: string; path: string }>).map(
        ({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`,
      ),
    );
    expect(routes.length).toBeGreaterThan(12);
    expect(missing(routes)).toEqual([]);
  });

  it('has each query, mutation and subscription', () => {
    const schema = buildSchema(readFileSync(join(ROOT, 'schema.graphql'), 'utf8'));
    const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
    const fields = roots.flatMap((type) => Object.keys(type?.getFields() ?? {}));
    expect(fields.length).toBeGreaterThan(70);
    expect(missing(fields)).toEqual([]);
    const inColumn = rows.flatMap((row) => [...(row.split('|')[3] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name));
    expect(inColumn.filter((name) => !fields.includes(name ?? ''))).toEqual([]);
  });

  it('has each method of the client', () => {
    const client = createClient({ baseUrl: 'http://127.0.0.1:9', apiKey: 'k' });
    const methods = Object.entries(client).flatMap(([group, value]) =>
      typeof value === 'function' ? [group] : Object.keys(value).map((name) => `${group}.${name}`),
    );
    expect(methods.length).toBeGreaterThan(40);
    expect(missing(methods)).toEqual([]);
  });

  it('has each command', () => {
    expect(missing(COMMANDS.map(({ name }) => name))).toEqual([]);
  });

  it('names nothing that the client or the command line does not have', () => {
    const client = createClient({ baseUrl: 'http://127.0.0.1:9', apiKey: 'k' }) as unknown as Record<string, object>;
    for (const name of named) {
      const [group = '', method = ''] = name.split('.');
      if (/^(queues|jobs|deadLetters|bulkActions|keys)\.\w+$/.test(name))
        expect(client[group], name).toHaveProperty(method);
    }
  });

  it('gives the reason for each empty cell', () => {
    const reasons = new Set([...document.matchAll(/^- \*\*([a-z])\*\* /gm)].map(([, letter]) => letter));
    for (const row of rows) {
      const cells = row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
      expect(cells, row).toHaveLength(6);
      for (const cell of cells) {
        expect(cell, row).not.toBe('');
        if (/^[a-z]$/.test(cell)) expect(reasons, row).toContain(cell);
      }
    }
    expect(rows.length).toBeGreaterThan(35);
  });
});
