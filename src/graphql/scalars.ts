import { DateTimeISOResolver, JSONObjectResolver, JSONResolver } from 'graphql-scalars';
import { builder } from './builder.ts';

builder.addScalarType('JSON', JSONResolver, { description: 'Any JSON value.' });
builder.addScalarType('JSONObject', JSONObjectResolver, { description: 'A JSON object.' });
builder.addScalarType('DateTime', DateTimeISOResolver, {
  description: 'A point in time in RFC 3339 format, as in `2026-01-31T12:00:00.000Z`.',
});
