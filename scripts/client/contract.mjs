// Generates the contract of the package: the same routes, with schemas of the JSON on the wire. The server's own
// schemas read the objects that its services return, and contain checks that only the server can make.
import { baseOf, commonAnswers, ownAnswers, ownFields } from './wire-types.mjs';

/** Returns `contract/index.js` as an ES module. */
export function writeContract(groups, named) {
  const models = named.map((type) => `const ${type.name} = ${modelText(type, baseOf(type, named))};\n`);
  const common = commonAnswers(groups);
  const members = groups.map(({ group, routes }) => {
    return `  ${group}: {\n${routes.map((route) => routeText(route, common)).join('')}  },\n`;
  });
  return `import { initContract } from '@ts-rest/core';
import { z } from 'zod';

const c = initContract();

${models.join('')}const common = { ${common.map(answerText).join(', ')} };

export const contract = c.router({
${members.join('')}});
`;
}

function modelText(type, base) {
  return base === undefined ? objectText(type) : `${base.name}.extend(${shapeText(ownFields(type, base))})`;
}

function routeText(route, common) {
  const { name, method, path, params, query, body, hasNoBody } = route;
  const parts = Object.entries({ pathParams: params, query, body }).filter(([, type]) => type !== null);
  const written = parts.map(([key, type]) => `${key}: ${zodText(type)}`);
  if (hasNoBody) written.push('body: c.noBody()');
  const responses = ['...common', ...ownAnswers(route, common).map(answerText)].join(', ');
  const fields = [`method: '${method}'`, `path: '${path}'`, ...written, `responses: { ${responses} }`];
  return `    ${name}: { ${[...fields, 'strictStatusCodes: true'].join(', ')} },\n`;
}

function answerText({ status, type }) {
  return `${status}: ${type === null ? 'c.noBody()' : zodText(type)}`;
}

function zodText(type) {
  if (type.name !== undefined) return type.name;
  const write = {
    payload: () => 'z.record(z.unknown())',
    text: () => `z.union([${zodText(type.of)}, z.string()])`,
    literal: () => `z.literal(${JSON.stringify(type.value)})`,
    enum: () => `z.enum(${JSON.stringify(type.values)})`,
    array: () => `z.array(${zodText(type.of)})`,
    record: () => `z.record(${zodText(type.of)})`,
    nullable: () => `${zodText(type.of)}.nullable()`,
    object: () => objectText(type),
  };
  return write[type.kind]?.() ?? `z.${type.kind}()`;
}

function objectText({ fields }) {
  return `z.object(${shapeText(fields)})`;
}

function shapeText(fields) {
  const written = fields.map(({ name, type, optional }) => `${name}: ${zodText(type)}${optional ? '.optional()' : ''}`);
  return `{ ${written.join(', ')} }`;
}
