import { describe, expect, it } from 'vitest';
import { printedSchema, schema } from '../../src/graphql/schema.ts';

describe('the schema', () => {
  it('is the committed one (npm run generate)', async () => {
    await expect(printedSchema()).toMatchFileSnapshot('../../schema.graphql');
  });

  it('describes every type, field, argument and enum value', () => {
    const bare: string[] = [];
    for (const type of Object.values(schema.getTypeMap())) {
      if (type.name.startsWith('__')) continue;
      if (!type.description) bare.push(type.name);
      const fields = 'getFields' in type ? Object.values(type.getFields()) : [];
      for (const field of fields) {
        if (!field.description) bare.push(`${type.name}.${field.name}`);
        for (const arg of 'args' in field ? field.args : []) {
          if (!arg.description) bare.push(`${type.name}.${field.name}(${arg.name})`);
        }
      }
    }
    expect(bare).toEqual([]);
  });
});
