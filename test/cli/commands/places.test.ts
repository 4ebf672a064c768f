import { expect, it } from 'vitest';
import { listOfPlaces } from '../../../src/cli/commands/service.ts';

it('keeps addresses apart from what they are, also if PUBLIC_URL is long', () => {
  const places = { dashboard: '/jobferry/', documentation: '/jobferry/docs', graphql: '/jobferry/graphql' };
  const said = (address: string) => listOfPlaces({ address: new URL(address), places: places as never }).split('\n');
  expect(said('http://localhost:8080')).toEqual([
    '',
    '  http://localhost:8080/jobferry/         dashboard',
    '  http://localhost:8080/jobferry/docs     REST API',
    '  http://localhost:8080/jobferry/graphql  GraphQL',
  ]);
});
