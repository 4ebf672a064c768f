import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect, it } from 'vitest';
import { document } from '../../../test/support/openapi.ts';

/** The OpenAPI document by the rules of a linter that is not ours. */

it('breaks no recommended rule', async () => {
  const config = await createConfig({ extends: ['recommended'] });
  const source = JSON.stringify(document);
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
});
