import { GraphQLObjectType } from 'graphql';
import { assert, describe, expect, it } from 'vitest';
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

  // A field with a selection makes Prisma read its row once more, unless Prisma read it for this field.
  it.each(['Account', 'Attempt', 'DeadLetter', 'Job', 'Member', 'Queue', 'Session'])(
    'has a Prisma model %s whose fields select nothing',
    (name) => {
      const type = schema.getType(name);
      assert(type instanceof GraphQLObjectType);
      expect(type.extensions.pothosPrismaModel).toBe(name);
      const selecting = Object.values(type.getFields()).filter(({ extensions }) => extensions.pothosPrismaSelect);
      expect(selecting.map((field) => field.name)).toEqual([]);
    },
  );
});
